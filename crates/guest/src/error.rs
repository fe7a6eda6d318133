//! Errors of guests, each with what to do about it.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A guest could not be started or did not keep going.
#[derive(Debug, Error)]
#[error("host {name}: {problem}{}", quoted(console))]
pub struct GuestError {
    /// The host's name.
    pub name: String,
    /// Problem.
    #[source]
    pub problem: Problem,
    /// The last lines it printed, empty if it printed nothing.
    pub console: String,
}

/// Problem with a guest.
#[derive(Debug, Error)]
pub enum Problem {
    /// The kernel's file could not be started.
    #[error(
        "its kernel {path} cannot be started: {error}; build one with `vazao kernel build`, or name another with `vazao kernel use PATH`"
    )]
    Start {
        /// The kernel's file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// The machine refused what a guest needs.
    #[error("{what} failed: {error}; {remedy}")]
    Resource {
        /// Missing thing.
        what: &'static str,
        /// The system's reason.
        error: io::Error,
        /// Remedy.
        remedy: &'static str,
    },
    /// The process ended before it asked for the time.
    #[error("its kernel gave up before its clock was set ({how}); {remedy}")]
    NoStart {
        /// End of the process.
        how: String,
        /// Remedy.
        remedy: &'static str,
    },
    /// The process runs, but never asked for the time.
    #[error(
        "its kernel did not ask for the time within {seconds} s: it is no User Mode Linux kernel, or one built without \
         CONFIG_UML_TIME_TRAVEL_SUPPORT; build one with `vazao kernel build`"
    )]
    NoClock {
        /// Seconds of waiting.
        seconds: f64,
    },
    /// Guest that is up, but has not set up its cards.
    #[error(
        "its kernel took {taken} of {given} network cards: it was built without CONFIG_VIRTIO_UML or CONFIG_VIRTIO_NET; \
         build one with `vazao kernel build`"
    )]
    NoCard {
        /// The cards it has set up.
        taken: usize,
        /// The cards it was given.
        given: usize,
    },
    /// Guest that ended without powering off.
    #[error(
        "its kernel died ({how}); what it printed last says why: more memory for the host may help, a kernel with patches may be broken"
    )]
    Died {
        /// End of the process.
        how: String,
    },
    /// Guest that computes and never sleeps, so that virtual time stands still.
    #[error(
        "it has been busy for {seconds} s without sleeping or asking for the time, so that virtual time stands still: a \
         program in it spins; let it block instead, or allow more time on a loaded machine"
    )]
    Spins {
        /// Seconds of silence.
        seconds: f64,
    },
    /// Guest that printed more than is kept.
    #[error("it printed more than {limit} bytes; let its programs print less")]
    Talks {
        /// The most that is kept, in bytes.
        limit: u64,
    },
    /// Guest that broke the protocol of its clock or card.
    #[error(
        "it broke the protocol of its {device}: {what}; use a kernel of the 6.1 or 6.12 series (`vazao kernel build`)"
    )]
    Protocol {
        /// The clock or the card.
        device: &'static str,
        /// Unexpected event.
        what: String,
    },
    /// The caller has stopped the run.
    #[error("stopped")]
    Stopped,
}

impl Problem {
    /// Makes the problem that `what` failed; `remedy` says what to do.
    pub(crate) fn resource(what: &'static str, remedy: &'static str) -> impl FnOnce(io::Error) -> Problem {
        move |error| Problem::Resource { what, error, remedy }
    }
    pub(crate) fn card(what: impl Into<String>) -> Problem {
        Problem::Protocol { device: "network card", what: what.into() }
    }
    pub(crate) fn clock(what: impl Into<String>) -> Problem {
        Problem::Protocol { device: "clock", what: what.into() }
    }
}

fn quoted(console: &str) -> String {
    match console {
        "" => String::new(),
        lines => format!("\nIt printed last:\n  {}", lines.trim_end().replace('\n', "\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_host_and_quotes_what_it_printed() {
        let error =
            GuestError { name: "left".into(), problem: Problem::Spins { seconds: 2.0 }, console: "a\nb\n".into() };
        let text = error.to_string();
        assert!(text.starts_with("host left: it has been busy for 2 s"), "{text}");
        assert!(text.ends_with("It printed last:\n  a\n  b"), "{text}");
        let silent = GuestError { console: String::new(), problem: Problem::Stopped, ..error };
        assert_eq!(silent.to_string(), "host left: stopped");
    }
}
