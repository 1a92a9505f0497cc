//! Device processes: how they start, whom they serve, what they leave (nothing).
//!
//! What needs a process of its own is a *scene*: an ignored test that another test runs in a child of this program, with an
//! environment of its own.

use core::ptr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use crate::support::{Device, HOST_TO_DEVICE, call, message, ok, prepare};

/// A scene, to be run in a process of its own.
fn scene(name: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command
        .args([&format!("process::{name}"), "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    command
}

/// Runs a scene to its end.
fn play(name: &str, environment: &[(&str, &str)]) -> Output {
    scene(name, environment).output().expect("this program starts")
}

/// Runs a scene that has to end well; what it printed.
fn play_well(scene: &str, environment: &[(&str, &str)]) -> String {
    let output = play(scene, environment);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "the scene {scene} exists: {text}");
    text
}

/// Children of the thread that runs the scene, which is the one that starts devices.
fn own_children() -> Vec<u32> {
    let text = std::fs::read_to_string("/proc/thread-self/children").expect("Linux lists children");
    text.split_whitespace().map(|child| child.parse().expect("a number")).collect()
}

fn exists(pid: u32) -> bool {
    std::fs::metadata(format!("/proc/{pid}")).is_ok()
}

/// Waits until a process is gone, or a zombie that its parent has not looked at. It ends on its own, so there is no time to tune.
fn until_gone(pid: u32) {
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    while is_running() {
        std::thread::yield_now();
    }
}

#[test]
fn a_device_is_one_process_from_the_first_set_to_the_last_reset() {
    play_well("scene_life", &[]);
}

#[test]
#[ignore = "a scene"]
fn scene_life() {
    prepare();
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("Linux lists descriptors").count();
    let mut device = -1;
    assert_eq!(call!(tenon_sim_get_device(&raw mut device)), 107_002);
    assert_eq!(call!(tenon_sim_reset_device(0)), 107_002);
    let before = descriptors();
    for _ in 0..2 {
        ok!(tenon_sim_set_device(0));
        ok!(tenon_sim_set_device(0));
        let [process] = own_children()[..] else { panic!("one device, one process") };
        ok!(tenon_sim_reset_device(0));
        ok!(tenon_sim_get_device(&raw mut device));
        assert!(device == 0 && exists(process));
        ok!(tenon_sim_reset_device(0));
        assert!(!exists(process), "ended and waited for");
        assert_eq!(descriptors(), before, "no descriptor is left");
        assert_eq!(call!(tenon_sim_get_device(&raw mut device)), 107_002);
        assert_eq!(message(), "107002 ACL_ERROR_RT_CONTEXT_NULL: device 0 was reset");
        assert_eq!(call!(tenon_sim_reset_device(0)), 107_002, "once too often");
    }
}

#[test]
fn handles_do_not_outlive_their_device() {
    let device = Device::new();
    let (stream, event) = (device.stream(), device.event(1));
    drop(device);
    let device = Device::new();
    assert_eq!(call!(tenon_sim_synchronize_stream(stream)), 107_017);
    assert_eq!(call!(tenon_sim_synchronize_event(event)), 107_017);
    drop(device);
}

#[test]
fn two_devices_are_apart() {
    play_well("scene_two_devices", &[("TENON_SIM_DEVICES", "2"), ("TENON_SIM_MEMORY", "0x10000000")]);
}

#[test]
#[ignore = "a scene"]
fn scene_two_devices() {
    prepare();
    let mut count = 0;
    ok!(tenon_sim_get_device_count(&raw mut count));
    assert_eq!(count, 2);
    assert_eq!(call!(tenon_sim_set_device(2)), 107_001);
    assert_eq!(call!(tenon_sim_set_device(-1)), 107_001);
    let (mut streams, mut memories, mut graphs) = ([ptr::null_mut(); 2], [ptr::null_mut(); 2], [ptr::null_mut(); 2]);
    for device in 0..2 {
        ok!(tenon_sim_set_device(i32::try_from(device).expect("small")));
        ok!(tenon_sim_create_stream(&raw mut streams[device]));
        ok!(tenon_sim_malloc(&raw mut memories[device], 64));
        ok!(tenon_sim_capture_begin(streams[device], 0));
        ok!(tenon_sim_capture_end(streams[device], &raw mut graphs[device]));
    }
    assert_eq!(memories[1].addr() - memories[0].addr(), 0x1000_0000, "addresses name their device");
    assert_eq!(own_children().len(), 2);
    // Device 1 is current now.
    assert_eq!(call!(tenon_sim_synchronize_stream(streams[0])), 107_003);
    assert_eq!(call!(tenon_sim_graph_launch(graphs[0], streams[1])), 107_004);
    assert_eq!(call!(tenon_sim_free(memories[0])), 100_000);
    let host = [0u8; 64];
    assert_eq!(call!(tenon_sim_memcpy(memories[0], 64, host.as_ptr().cast(), 64, HOST_TO_DEVICE)), 107_000);
    ok!(tenon_sim_memcpy(memories[1], 64, host.as_ptr().cast(), 64, HOST_TO_DEVICE));
    ok!(tenon_sim_reset_device(1));
    ok!(tenon_sim_set_device(0));
    ok!(tenon_sim_synchronize_stream(streams[0]));
    ok!(tenon_sim_reset_device(0));
    ok!(tenon_sim_reset_device(0));
}

#[test]
fn a_host_that_follows_a_device_address_faults() {
    for scene in ["scene_read_a_device_address", "scene_write_a_device_address"] {
        let output = play(scene, &[]);
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{scene}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("about to follow it"));
    }
}

fn device_address() -> *mut u8 {
    prepare();
    ok!(tenon_sim_set_device(0));
    let mut memory = ptr::null_mut();
    ok!(tenon_sim_malloc(&raw mut memory, 64));
    ok!(tenon_sim_memset(memory, 64, 0, 64));
    println!("about to follow it");
    ptr::with_exposed_provenance_mut(memory.addr())
}

#[test]
#[ignore = "a scene"]
fn scene_read_a_device_address() {
    let address = device_address();
    // SAFETY: deliberately none: the process is meant to end here.
    let value = unsafe { address.read_volatile() };
    println!("read {value}");
}

#[test]
#[ignore = "a scene"]
fn scene_write_a_device_address() {
    let address = device_address();
    // SAFETY: deliberately none: the process is meant to end here.
    unsafe { address.write_volatile(1) };
}

#[test]
fn a_device_that_is_killed_is_lost_to_everybody_and_starts_anew() {
    play_well("scene_killed", &[]);
}

#[test]
#[ignore = "a scene"]
fn scene_killed() {
    let device = Device::new();
    let (stream, event, memory) = (device.stream(), device.event(1), device.memory(64 << 20, 0));
    let [process] = own_children()[..] else { panic!("one device, one process") };
    // Stopped first, so that what follows can not have ended when the process does.
    // SAFETY: signals to a process that this one started and has not waited for.
    unsafe { libc::kill(process.cast_signed(), libc::SIGSTOP) };
    ok!(tenon_sim_memset_async(memory, 64 << 20, 1, 64 << 20, stream));
    ok!(tenon_sim_record_event(event, stream));
    std::thread::scope(|scope| {
        let stream = stream.expose_provenance();
        let waiting = scope.spawn(move || {
            ok!(tenon_sim_set_device(0));
            let answer = call!(tenon_sim_synchronize_stream(ptr::with_exposed_provenance_mut(stream)));
            ok!(tenon_sim_reset_device(0));
            answer
        });
        // SAFETY: as above.
        unsafe { libc::kill(process.cast_signed(), libc::SIGKILL) };
        assert_eq!(waiting.join().expect("no panic"), 507_010);
    });
    assert_eq!(call!(tenon_sim_synchronize_stream(stream)), 507_010);
    assert!(message().contains("device 0: its process is gone"), "{}", message());
    assert_eq!(call!(tenon_sim_synchronize_event(event)), 507_010);
    assert_eq!(call!(tenon_sim_synchronize_device()), 507_010);
    let mut status = 0;
    assert_eq!(call!(tenon_sim_query_stream(stream, &raw mut status)), 507_010);
    ok!(tenon_sim_reset_device(0));
    ok!(tenon_sim_set_device(0));
    let memory = device.memory(64, 7);
    assert_eq!(device.read(memory, 64), [7; 64]);
}

#[test]
fn a_user_that_just_exits_leaves_no_process() {
    let text = play_well("scene_exit", &[]);
    let process = text.lines().find_map(|line| line.split("device process ").nth(1)).expect("it says which");
    until_gone(process.trim().parse().expect("a number"));
}

#[test]
#[ignore = "a scene"]
fn scene_exit() {
    prepare();
    ok!(tenon_sim_set_device(0));
    println!("device process {}", own_children()[0]);
}

#[test]
fn other_programs_that_a_user_starts_do_not_hold_its_device() {
    play_well("scene_other_program", &[]);
}

#[test]
#[ignore = "a scene"]
fn scene_other_program() {
    prepare();
    ok!(tenon_sim_set_device(0));
    let listing = Command::new("ls").args(["-l", "/proc/self/fd"]).output().expect("ls starts");
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert!(listing.contains(" 0 -> "), "{listing}");
    assert!(!listing.contains("tenon-sim") && !listing.contains("socket"), "{listing}");
    ok!(tenon_sim_reset_device(0));
}

#[test]
fn a_forked_child_has_no_device_until_it_sets_its_own() {
    play_well("scene_fork", &[]);
}

#[test]
#[ignore = "a scene"]
fn scene_fork() {
    let device = Device::new();
    let (stream, memory) = (device.stream(), device.memory(64, 5));
    let parents = own_children();
    // SAFETY: the child below makes calls of this library, formats messages and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut current = -1;
        let refused = call!(tenon_sim_get_device(&raw mut current)) == 107_002
            && message().contains("device 0 was set before fork()")
            && call!(tenon_sim_synchronize_stream(stream)) == 107_002
            && call!(tenon_sim_reset_device(0)) == 107_002;
        let mut bytes = [0u8; 64];
        let own = refused
            && call!(tenon_sim_set_device(0)) == 0
            && call!(tenon_sim_synchronize_stream(stream)) == 107_017
            && call!(tenon_sim_read_device(bytes.as_mut_ptr().cast(), memory, 64)) == 107_000
            && call!(tenon_sim_reset_device(0)) == 0;
        // SAFETY: ends the child without running what its parent meant for itself.
        unsafe { libc::_exit(if own { 7 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(libc::WEXITSTATUS(status), 7, "the child was refused what it inherited and had its own");
    assert_eq!(own_children(), parents, "the device still serves its user");
    assert_eq!(device.read(memory, 64), [5; 64]);
    ok!(tenon_sim_synchronize_stream(stream));
}

#[test]
fn a_device_dies_with_its_user_even_when_a_forked_child_lives_on() {
    let mut user =
        scene("scene_fork_outlives", &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(user.stdout.take().expect("a pipe")).lines();
    let mut number = |name: &str| {
        let found = lines.find_map(|line| line.expect("text").strip_prefix(name).map(str::to_owned));
        found.expect("the scene says it").trim().parse::<u32>().expect("a number")
    };
    let (device, child) = (number("device process "), number("forked child "));
    let stdin = user.stdin.take();
    assert!(user.wait().expect("it ends").success());
    until_gone(device);
    assert!(exists(child), "it still waits for the end of its input");
    drop(stdin);
    until_gone(child);
}

#[test]
#[ignore = "a scene"]
fn scene_fork_outlives() {
    prepare();
    ok!(tenon_sim_set_device(0));
    println!("\ndevice process {}", own_children()[0]);
    // SAFETY: the child below only makes system calls.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut byte = 0u8;
        // SAFETY: room for one byte; the call returns when the test closes the other end.
        unsafe { libc::read(0, (&raw mut byte).cast(), 1) };
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    println!("forked child {child}");
    // SAFETY: ends the user at once, without a reset.
    unsafe { libc::_exit(0) };
}

#[test]
fn a_missing_or_broken_device_process_is_named() {
    let text = play_well("scene_cannot_start", &[("TENON_SIM_DEVICE", "/nowhere/tenon-sim-device")]);
    assert!(
        text.contains("the device process tenon-sim-device was not found; looked for /nowhere/tenon-sim-device"),
        "{text}"
    );
    let text = play_well("scene_cannot_start", &[("TENON_SIM_DEVICE", "/bin/true")]);
    assert!(text.contains("/bin/true ended before it was ready (exit status: 0)"), "{text}");
    let text = play_well("scene_cannot_start", &[("TENON_SIM_DEVICE", "/etc/passwd")]);
    assert!(text.contains("/etc/passwd: could not be started"), "{text}");
    let text = play_well("scene_cannot_start", &[("TENON_SIM_AICORES", "many")]);
    assert!(text.contains("TENON_SIM_AICORES=\"many\": expected a number in 1..=256"), "{text}");
    let text = play_well("scene_cannot_start", &[("IN_THE_WAY", "yes")]);
    assert!(text.contains("0x200000000 bytes at 0x550000000000 could not be reserved"), "{text}");
    assert!(text.contains("set TENON_SIM_BASE"), "{text}");
}

#[test]
#[ignore = "a scene"]
fn scene_cannot_start() {
    prepare();
    if std::env::var_os("IN_THE_WAY").is_some() {
        let (at, flags) = (0x5500_0000_1000, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE);
        // SAFETY: an inaccessible page where nothing is.
        let page = unsafe { libc::mmap(ptr::without_provenance_mut(at), 4096, libc::PROT_NONE, flags, -1, 0) };
        assert_eq!(page.addr(), at);
    }
    assert_ne!(call!(tenon_sim_set_device(0)), 0);
    println!("{}", message());
    assert!(own_children().is_empty(), "nothing is left of the attempt");
}
