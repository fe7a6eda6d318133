//! Bytes on the wire: codecs, checksums, capture files.
