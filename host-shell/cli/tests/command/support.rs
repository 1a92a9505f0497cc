//! Running the command and making what it reads.
//!

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What one run of the command left.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A directory for one test.
pub(crate) struct Place(TempDir);

impl Run {
    /// Checks that the command failed in this way, and that its message holds each of these parts.
    #[track_caller]
    pub(crate) fn is_refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
        }
        assert_eq!(self.stdout, "", "a failure gives no result");
    }

    #[track_caller]
    pub(crate) fn is_done(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        &self.stdout
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("a file");
        path
    }

    /// Runs the command here, with nothing of this program's environment that it reads.
    pub(crate) fn tenon(&self, arguments: &[&str]) -> Run {
        self.tenon_with(arguments, &[])
    }

    /// Runs the command here with this on standard input.
    pub(crate) fn tenon_reading(&self, arguments: &[&str], input: &str) -> Run {
        let input = fs::File::open(self.write("input", input)).expect("a file");
        self.run(arguments, &[], input.into())
    }

    pub(crate) fn tenon_with(&self, arguments: &[&str], environment: &[(&str, &Path)]) -> Run {
        self.run(arguments, environment, Stdio::null())
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &Path)], input: Stdio) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon"));
        command.current_dir(self.0.path()).args(arguments).stdin(input);
        for name in ["TENON_LOG", "TENON_RUNTIME", "TENON_SIM"] {
            command.env_remove(name);
        }
        let output = command.envs(environment.iter().copied()).output().expect("the command runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Compiles C into `name`.
    pub(crate) fn compile(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let source = self.write(&format!("{name}.c"), source);
        let object = self.path(name);
        let mut cc = Command::new("cc");
        let status = cc.args(options).arg("-o").arg(&object).arg(source).status();
        assert!(status.expect("a C compiler: apt-get install gcc").success());
        object
    }

    /// An orchestration `add` and a child, compiled, and a description of both.
    pub(crate) fn add(&self) {
        self.compile("add.so", "int add(void) { return 0; }", &["-shared", "-fPIC"]);
        self.compile("child.so", "int tenon_kernel(void) { return 0; }", &["-shared", "-fPIC"]);
        self.write("add.toml", ADD);
    }
}

/// Description of a callable that [`Place::add`] makes.
pub(crate) const ADD: &str = r#"
func = "add"
config = "plain"
object = "add.so"
signature = ["in", "in", "out", "scalar"]

[[child]]
object = "child.so"
func_id = 7
signature = ["in", "inout", "scalar"]
"#;
