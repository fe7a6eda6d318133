//! A guest's process is walled in from outside: whatever runs as its kernel, it reads what is installed and writes
//! nothing.

use crate::failures::imposter;
use crate::lab::{GO_ON, boot};
use std::path::PathBuf;
use std::time::Duration;
use vazao_guest::{Boot, Guest, has_walls};
use vazao_guest_protocol::Plan;

/// Output of a program that runs in a kernel's place.
fn said(program: &str, files: &[PathBuf]) -> String {
    let name = format!("intruder-{}", program.len() + files.len());
    let intruder = imposter(&name, &format!("#!/bin/sh\n{program}\necho done\nexit 3\n"));
    let plan = Plan::default();
    let boot = Boot { files, ..boot(&intruder, 0, &plan) };
    let error = Guest::boot(&boot, Duration::from_secs(5), &GO_ON).err().expect("it is no kernel");
    std::fs::remove_file(&intruder).unwrap();
    assert!(error.console.ends_with("done"), "{error}");
    error.console
}

#[test]
fn it_has_no_socket_that_leads_elsewhere() {
    let make =
        |family: &str| said(&format!("perl -MSocket -e 'socket(S, {family}, SOCK_DGRAM, 0) or print \"$!\\n\"'"), &[]);
    for family in ["AF_INET", "AF_INET6", "16"] {
        assert!(make(family).contains("Permission denied"), "{family}");
    }
    assert!(!make("AF_UNIX").contains("Permission denied"));
}

#[test]
fn it_reads_what_is_installed_and_writes_nothing() {
    if !has_walls() {
        return println!("skipped: this machine's Linux has no Landlock");
    }
    let folder = std::env::temp_dir().join(format!("vazao-test-{}-walls", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (secret, written) = (folder.join("secret"), folder.join("written"));
    std::fs::write(&secret, "the secret").unwrap();
    let (at, to) = (secret.display(), written.display());

    let refused = said(&format!("cat {at}; ls {}; ls /; cat /etc/shadow /proc/$PPID/environ", folder.display()), &[]);
    assert_eq!(refused.matches("Permission denied").count(), 5, "{refused}");
    assert!(said("test -r /etc/hosts && head -c 4 /usr/bin/env", &[]).contains("ELF"));
    assert!(said(&format!("cat {at}"), std::slice::from_ref(&secret)).contains("the secret"), "the user has said so");

    for attempt in [
        format!("echo x > {to}"),
        format!("echo x >> {at}"),
        format!("mkdir {to}"),
        format!("ln -s / {to}"),
        format!("rm -f {at}"),
        "touch new".to_owned(),
        format!("mv {at} {to}"),
    ] {
        said(&attempt, std::slice::from_ref(&folder));
        assert!(!written.exists() && !written.is_symlink(), "{attempt}");
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "the secret", "{attempt}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
