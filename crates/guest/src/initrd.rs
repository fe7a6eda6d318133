//! The initial root of a guest: a cpio archive in the "newc" format (initramfs buffer format, kernel documentation),
//! uncompressed, as unpacking would cost more than reading.

/// The other files of every guest.
const NODES: &[(&str, u32, u32, u32)] = &[
    ("dev", DIRECTORY | 0o755, 0, 0),
    ("dev/console", DEVICE | 0o600, 5, 1),
    ("dev/null", DEVICE | 0o666, 1, 3),
    ("dev/tty0", DEVICE | 0o600, 4, 0),
    ("dev/tty1", DEVICE | 0o600, 4, 1),
    ("proc", DIRECTORY | 0o755, 0, 0),
    ("sys", DIRECTORY | 0o755, 0, 0),
];
const DIRECTORY: u32 = 0o040_000;
const DEVICE: u32 = 0o020_000;
const FILE: u32 = 0o100_000;

/// Makes the archive that holds `program` as `/init` and `plan` as `/plan`.
pub(crate) fn archive(program: &[u8], plan: &str) -> Vec<u8> {
    let mut archive = Vec::with_capacity(program.len() + plan.len() + 2048);
    let mut entries = 0;
    let mut add = |name: &str, mode: u32, device: (u32, u32), content: &[u8]| {
        entries += 1;
        entry(&mut archive, entries, name, mode, device, content);
    };
    for (name, mode, major, minor) in NODES {
        add(name, *mode, (*major, *minor), &[]);
    }
    add("init", FILE | 0o755, (0, 0), program);
    add("plan", FILE | 0o644, (0, 0), plan.as_bytes());
    add("TRAILER!!!", 0, (0, 0), &[]);
    archive
}

/// Appends one file: a header of 8-digit hexadecimal fields, its name and its content, each padded to 4 bytes.
fn entry(archive: &mut Vec<u8>, inode: u32, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
    let size = u32::try_from(content.len()).expect("an initial root is far smaller than 4 GiB");
    let links = 1;
    let (owner, group, modified, on) = (0, 0, 0, (0, 0));
    let name_size = name.len() as u32 + 1;
    let check = 0;
    archive.extend_from_slice(b"070701");
    for field in [inode, mode, owner, group, links, modified, size, on.0, on.1, device.0, device.1, name_size, check] {
        archive.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// Reads the archive by another program, cpio(1), where there is one.
    #[test]
    fn cpio_lists_what_was_packed() {
        let Ok(mut cpio) = Command::new("cpio")
            .args(["--list", "--verbose", "--numeric-uid-gid", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            return; // the structure is checked below in any case
        };
        cpio.stdin.take().unwrap().write_all(&archive(b"abc", "0")).unwrap();
        let listing = String::from_utf8(cpio.wait_with_output().unwrap().stdout).unwrap();
        let line = |name: &str| listing.lines().find(|l| l.ends_with(name)).unwrap_or_else(|| panic!("{listing}"));
        assert!(line(" init").starts_with("-rwxr-xr-x"), "{listing}");
        assert!(line(" dev/tty1").starts_with("crw-------") && line(" dev/tty1").contains("4,   1"), "{listing}");
        assert_eq!(listing.lines().count(), NODES.len() + 2, "{listing}");
    }

    #[test]
    fn an_entry_is_laid_out_as_the_format_says() {
        let mut bytes = Vec::new();
        entry(&mut bytes, 7, "ab", FILE | 0o644, (0, 0), b"hello");
        // 6 + 13 * 8 = 110 bytes of header, 3 of name with its zero, padded to 116; 5 of content, padded to 8.
        assert_eq!(bytes.len(), 116 + 8);
        assert_eq!(&bytes[..22], b"07070100000007000081a4");
        assert_eq!(&bytes[54..62], b"00000005");
        assert_eq!(&bytes[94..102], b"00000003");
        assert_eq!(&bytes[110..116], b"ab\0\0\0\0");
        assert_eq!(&bytes[116..], b"hello\0\0\0");
    }
}
