//! Every way in which a package of this workspace is built.
//!
//! A configuration that no list names is broken for years before anybody notices, so adding a package or a feature without a
//! variant fails a test below. Features are always given in full (`--no-default-features --features …`) and for one package at
//! a time: building the whole workspace at once would unify features and test something that nobody ships.

use crate::needs::Need;

/// Machine and system that a variant is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The machine that builds.
    Host,
}

/// How it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Overflow checks and debug assertions.
    Dev,
    /// What is shipped to hosts.
    Release,
    /// What is shipped to devices: no unwinder.
    Device,
    /// Optimised, with loom's atomics and threads in place of the real ones (`--cfg loom`).
    Loom,
}

/// What is done with it, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Lints of libraries, programs, tests and benches, warnings denied.
    Clippy,
    /// Lints of the library alone, where a test program of this variant cannot be linked.
    ClippyLib,
    /// Documentation, warnings denied: links lead somewhere.
    Doc,
    /// Unit, integration and documentation tests.
    Test,
    /// Compile and link.
    Build,
    /// Compare what the library exports and needs with the committed list.
    Exports,
}

/// One way of building one package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    pub(crate) package: &'static str,
    pub(crate) target: Target,
    pub(crate) features: &'static [&'static str],
    pub(crate) profile: Profile,
    pub(crate) actions: &'static [Action],
    pub(crate) needs: &'static [Need],
    /// Seconds that all its actions may take on two cores from a clean clone.
    pub(crate) budget: u64,
    /// One line: what only this variant shows.
    pub(crate) why: &'static str,
}

impl Variant {
    /// `<package>/<target>/<features, or the profile where there are none>`.
    pub(crate) fn name(&self) -> String {
        let last = if self.features.is_empty() { self.profile.name().to_owned() } else { self.features.join("+") };
        format!("{}/{}/{last}", self.package, self.target.name())
    }

    /// The arguments that select exactly this variant for a cargo command.
    pub(crate) fn selection(&self) -> Vec<String> {
        let mut arguments = vec!["--package".into(), self.package.into(), "--no-default-features".into()];
        if !self.features.is_empty() {
            arguments.extend(["--features".into(), self.features.join(",")]);
        }
        arguments
    }

    /// Whether it does `action`.
    pub(crate) fn does(&self, action: Action) -> bool {
        self.actions.contains(&action)
    }
}

impl Target {
    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
        }
    }
}

impl Profile {
    /// As it stands in a variant's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
            Self::Device => "device",
            Self::Loom => "loom",
        }
    }

    /// What cargo calls it.
    pub(crate) const fn cargo_name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release | Self::Loom => "release",
            Self::Device => "device",
        }
    }

    /// The folder below the target directory.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release | Self::Loom => "release",
            Self::Device => "device",
        }
    }
}

/// Prints names and reasons.
pub(crate) fn print() {
    let width = VARIANTS.iter().map(|variant| variant.name().len()).max().unwrap_or(0);
    for variant in VARIANTS {
        println!("{:width$}  {:4} s  {}", variant.name(), variant.budget, variant.why);
    }
}

/// One variant for the host.
const fn host(
    package: &'static str,
    features: &'static [&'static str],
    profile: Profile,
    actions: &'static [Action],
    needs: &'static [Need],
    budget: u64,
    why: &'static str,
) -> Variant {
    Variant { package, target: Target::Host, features, profile, actions, needs, budget, why }
}

use Action::{Build, Clippy, ClippyLib, Doc, Exports, Test};
use Profile::{Dev, Device, Loom, Release};

/// All of them. The order is that of a run: what fails fast and what others stand on comes first.
pub(crate) const VARIANTS: &[Variant] = &[
    host("xtask", &[], Dev, &[Clippy, Test], &[Need::Git], 60, "the gate checks itself"),
    host("tenon-core", &[], Dev, &[Clippy, Doc, Test], &[], 150, "all rules, tables and state machines"),
    host("tenon-core", &[], Release, &[Test], &[], 120, "ten million packets, and the stress tests at full length"),
    host("tenon-core", &["defmt"], Dev, &[ClippyLib], &[], 30, "what a device logs can be encoded"),
    host("tenon-core", &[], Loom, &[Test], &[Need::Timeout], 150, "record, verdict and latch protocols in every order"),
    host("tenon-device-shell", &[], Dev, &[Clippy, Doc, Test], &[], 60, "the device side with a stand-in platform"),
    host("tenon-device-shell", &["defmt"], Dev, &[ClippyLib], &[], 30, "the device side logs without formatting"),
    host(
        "tenon-device-image",
        &[],
        Device,
        &[ClippyLib, Build, Exports],
        &[Need::Binutils],
        60,
        "a device image: no std, no unwinder, only its entries exported",
    ),
    host(
        "tenon-host-runtime",
        &["kernel-mode"],
        Dev,
        &[Clippy, Doc, Test],
        &[],
        60,
        "both modes over a recording platform",
    ),
    host("tenon-host-runtime", &[], Dev, &[Clippy, Test], &[], 30, "a stub refuses the same arguments, then says no"),
    host(
        "tenon-host-runtime",
        &["export", "kernel-mode"],
        Release,
        &[ClippyLib, Build, Exports],
        &[Need::Binutils],
        90,
        "the library that C programs link",
    ),
    host("tenon-host-runtime", &[], Loom, &[Test], &[Need::Timeout], 120, "latch and entry flag in every order"),
    host(
        "tenon-sim",
        &[],
        Dev,
        &[Clippy, Doc, Test],
        &[],
        90,
        "streams, events, graphs and memory of the simulated device",
    ),
    host(
        "tenon-sim",
        &["export"],
        Release,
        &[ClippyLib, Build, Exports],
        &[Need::Binutils],
        90,
        "the vendor library and its device process",
    ),
    host("tenon-cli", &[], Dev, &[Clippy, Test], &[], 150, "the command, with its debug assertions"),
    host("tenon-cli", &[], Release, &[Build], &[], 60, "the command as it is staged"),
    host(
        "tenon-abi-headers",
        &[],
        Dev,
        &[Clippy, Test],
        &[Need::Cc, Need::Cxx],
        60,
        "the header generator and the layouts that C sees",
    ),
    host(
        "tenon-tests",
        &["reference"],
        Dev,
        &[Clippy, Test],
        &[Need::Cc, Need::Cxx, Need::Seccomp, Need::Timeout],
        240,
        "all parts together, across every boundary",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn every_package_and_every_feature_has_a_variant() {
        let workspace = Workspace::find().expect("cargo metadata");
        for package in &workspace.members {
            let own: Vec<&Variant> = VARIANTS.iter().filter(|variant| variant.package == package.name).collect();
            assert!(!own.is_empty(), "{} has no variant", package.name);
            for feature in package.features.keys().filter(|feature| *feature != "default") {
                let is_built = own.iter().any(|variant| variant.features.contains(&feature.as_str()));
                assert!(is_built, "feature {feature} of {} is in no variant", package.name);
            }
        }
    }

    #[test]
    fn every_variant_names_a_package_and_features_that_exist() {
        let workspace = Workspace::find().expect("cargo metadata");
        for variant in VARIANTS {
            let package = workspace.members.iter().find(|package| package.name == variant.package).expect("a member");
            for feature in variant.features {
                assert!(package.features.contains_key(*feature), "{} has no feature {feature}", variant.package);
            }
        }
    }

    #[test]
    fn names_are_unique_and_reasons_are_given() {
        let names: BTreeSet<String> = VARIANTS.iter().map(Variant::name).collect();
        assert_eq!(names.len(), VARIANTS.len());
        assert!(VARIANTS.iter().all(|variant| !variant.why.is_empty() && variant.budget > 0));
    }

    #[test]
    fn every_action_is_used_and_every_variant_does_something() {
        for action in [Clippy, ClippyLib, Doc, Test, Build, Exports] {
            assert!(VARIANTS.iter().any(|variant| variant.does(action)), "{action:?} is used by no variant");
        }
        assert!(VARIANTS.iter().all(|variant| !variant.actions.is_empty()));
    }

    #[test]
    fn every_need_of_a_variant_has_a_probe() {
        for variant in VARIANTS {
            assert!(variant.needs.iter().all(|need| Need::ALL.contains(need)), "{}", variant.name());
        }
    }

    #[test]
    fn a_selection_never_leaves_features_to_chance() {
        let selection =
            VARIANTS.iter().find(|variant| variant.name() == "tenon-core/host/defmt").expect("it").selection();
        assert_eq!(selection, ["--package", "tenon-core", "--no-default-features", "--features", "defmt"]);
    }
}
