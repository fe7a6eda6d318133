// Writes the file format of docs/recording.md.

const TYPES = [
  ["f64", Float64Array],
  ["u32", Uint32Array],
  ["u16", Uint16Array],
  ["u8", Uint8Array],
];

const padded = (length) => Math.ceil(length / 8) * 8;

/** Encodes a recording; `columns` has typed arrays by the names of their sections. */
export function encode(header, columns) {
  const sections = {};
  const text = () => new TextEncoder().encode(JSON.stringify({ ...header, sections }));
  const place = (first) => {
    let at = first;
    for (const [name, array] of Object.entries(columns)) {
      const [type] = TYPES.find(([, made]) => array instanceof made);
      sections[name] = { type, at, count: array.length };
      at = padded(at + array.byteLength);
    }
    return at;
  };
  // The header's length depends on the offsets that it contains: space for their digits is reserved first.
  place(1e12);
  const first = padded(16 + text().length);
  const length = place(first);
  const file = new Uint8Array(length);
  const data = new DataView(file.buffer);
  file.set(new TextEncoder().encode("vazaorec"));
  data.setUint32(8, 1, true);
  const written = text();
  data.setUint32(12, written.length, true);
  file.set(written, 16);
  for (const [name, array] of Object.entries(columns)) {
    file.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), sections[name].at);
  }
  return file;
}

/** A typed array that grows. */
export class Column {
  constructor(Type) {
    this.Type = Type;
    this.array = new Type(1024);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.array.length) {
      const larger = new this.Type(this.length * 2);
      larger.set(this.array);
      this.array = larger;
    }
    this.array[this.length++] = value;
  }

  done() {
    return this.array.slice(0, this.length);
  }
}
