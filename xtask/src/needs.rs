//! What a lane needs from the machine, and how to find out whether it is there.
//!
//! A missing tool can be installed, so it is a failure that names the command. Missing hardware or privilege is the machine's
//! nature, so it is a skip, counted in the last line.

use xshell::{Shell, cmd};

/// Something that is not part of Rust itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A C compiler, as `cc`.
    Cc,
    /// A C++17 compiler, as `c++`.
    Cxx,
    /// `nm` and `readelf`, to read what was linked.
    Binutils,
    /// `git`, to know which files belong to the repository.
    Git,
    /// `timeout`, to end a lane that hangs.
    Timeout,
    /// `pkg-config`, to use the libraries as a stranger would.
    PkgConfig,
    /// `valgrind`, to count instructions.
    Valgrind,
    /// cargo-fuzz, only for the full run.
    CargoFuzz,
    /// cargo-deny, only for the full run.
    CargoDeny,
    /// A kernel that lets an unprivileged process install a strict seccomp filter on itself.
    Seccomp,
}

/// Whether a need is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Here; what it says about itself.
    Here(String),
    /// A tool that can be installed with this command.
    MissingTool(&'static str),
    /// Something that no command gives.
    MissingHardware(&'static str),
}

impl Need {
    /// Every need, for `doctor` and for the guard in the tests.
    pub(crate) const ALL: &[Self] = &[
        Self::Cc,
        Self::Cxx,
        Self::Binutils,
        Self::Git,
        Self::Timeout,
        Self::PkgConfig,
        Self::Valgrind,
        Self::CargoFuzz,
        Self::CargoDeny,
        Self::Seccomp,
    ];

    /// How a person calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cc => "C compiler",
            Self::Cxx => "C++ compiler",
            Self::Binutils => "nm, readelf",
            Self::Git => "git",
            Self::Timeout => "timeout",
            Self::PkgConfig => "pkg-config",
            Self::Valgrind => "valgrind",
            Self::CargoFuzz => "cargo-fuzz",
            Self::CargoDeny => "cargo-deny",
            Self::Seccomp => "seccomp",
        }
    }

    /// Looks for it on this machine.
    pub(crate) fn probe(self, shell: &Shell) -> Presence {
        match self {
            Self::Cc => tool(shell, &["cc", "--version"], "apt-get install gcc libc6-dev"),
            Self::Cxx => tool(shell, &["c++", "--version"], "apt-get install g++"),
            Self::Binutils => tool(shell, &["readelf", "--version"], "apt-get install binutils"),
            Self::Git => tool(shell, &["git", "--version"], "apt-get install git"),
            Self::Timeout => tool(shell, &["timeout", "--version"], "apt-get install coreutils"),
            Self::PkgConfig => tool(shell, &["pkg-config", "--version"], "apt-get install pkg-config"),
            Self::Valgrind => tool(shell, &["valgrind", "--version"], "apt-get install valgrind"),
            Self::CargoFuzz => tool(shell, &["cargo", "fuzz", "--version"], "cargo install cargo-fuzz"),
            Self::CargoDeny => tool(shell, &["cargo", "deny", "--version"], "cargo install --locked cargo-deny"),
            Self::Seccomp => seccomp(shell),
        }
    }
}

fn tool(shell: &Shell, command: &[&str], fix: &'static str) -> Presence {
    let (program, arguments) = (command[0], &command[1..]);
    match cmd!(shell, "{program} {arguments...}").quiet().ignore_stderr().read() {
        Ok(text) => Presence::Here(text.lines().next().unwrap_or_default().to_owned()),
        Err(_) => Presence::MissingTool(fix),
    }
}

/// The kernel lists the actions a filter may take; without the list it was built without filters (seccomp(2)).
fn seccomp(shell: &Shell) -> Presence {
    match shell.read_file("/proc/sys/kernel/seccomp/actions_avail") {
        Ok(actions) => Presence::Here(actions.trim().to_owned()),
        Err(_) => Presence::MissingHardware("this kernel has no seccomp filters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_is_listed_once_and_can_be_probed() {
        let shell = Shell::new().expect("a shell");
        for need in Need::ALL {
            assert_eq!(Need::ALL.iter().filter(|other| *other == need).count(), 1, "{need:?}");
            if let Presence::MissingTool(fix) = need.probe(&shell) {
                assert!(fix.contains("install"), "{need:?} names no command");
            }
        }
    }

    #[test]
    fn a_missing_tool_names_the_command_that_installs_it() {
        let shell = Shell::new().expect("a shell");
        let presence = tool(&shell, &["no-such-program-anywhere", "--version"], "apt-get install it");
        assert_eq!(presence, Presence::MissingTool("apt-get install it"));
    }
}
