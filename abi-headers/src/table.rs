//! What each header contains, and what C calls it.
//!

/// One header.
pub(crate) struct Header {
    /// Below `include/tenon/`.
    pub(crate) name: &'static str,
    /// What stands at its top, after the notice.
    pub(crate) about: &'static str,
    /// Headers of ours that it stands on.
    pub(crate) includes: &'static [&'static str],
    /// Rust files, or folders of them, from the root of the repository. Every exported function in them is declared.
    pub(crate) sources: &'static [&'static str],
    /// The types it declares: (Rust, C).
    pub(crate) types: &'static [(&'static str, &'static str)],
    /// The constants it defines: (Rust, C).
    pub(crate) constants: &'static [(&'static str, &'static str)],
    /// Whether its structures need the macros for alignment and packing.
    pub(crate) has_attributes: bool,
}

/// All of them; a header comes after those it includes.
pub(crate) const HEADERS: &[Header] = &[
    Header {
        name: "status.h",
        about: "The codes that the host runtime and the device answer with. A number never gets a second meaning.\n\
                Codes latched on the device are -1..-999, among them -(900 + dispatch answer); those of the host\n\
                runtime are -1000 and below. 0 is success in both.",
        includes: &[],
        sources: &["core/src/status.rs"],
        types: &[("RuntimeError", "PtoRuntimeErr"), ("DispatchAnswer", "SimplerDispatchAnswer")],
        constants: &[],
        has_attributes: false,
    },
    Header {
        name: "wire.h",
        about: "Structures that cross from host to device, exactly as they lie in memory. Little-endian. Reserved\n\
                fields are written as zero and refused otherwise; pads are written as zero and never read.",
        includes: &[],
        sources: &[
            "core/src/wire/mod.rs",
            "core/src/wire/packet.rs",
            "core/src/wire/tensor.rs",
            "core/src/wire/args.rs",
            "core/src/area.rs",
        ],
        types: &[
            ("Mode", "SimplerMode"),
            ("AddressSpace", "SimplerAddressSpace"),
            ("DataType", "SimplerDataType"),
            ("InvocationHeader", "SimplerKernelInvocationHeader"),
            ("DispatchPrefix", "SimplerDispatchArgs"),
            ("Tensor", "SimplerChipTensor"),
            ("StorageTaskArgs", "SimplerChipStorageTaskArgs"),
        ],
        constants: &[
            ("MAX_TENSORS", "SIMPLER_MAX_TENSORS"),
            ("MAX_SCALARS", "SIMPLER_MAX_SCALARS"),
            ("MAX_ARGUMENTS", "SIMPLER_MAX_ARGUMENTS"),
            ("SLOTS", "SIMPLER_SLOTS"),
            ("PREFIX_BYTES", "SIMPLER_PREFIX_BYTES"),
            ("MAX_PACKET_BYTES", "SIMPLER_MAX_PACKET_BYTES"),
            ("AREA_BYTES", "SIMPLER_AREA_BYTES"),
            ("AREA_ALIGN", "SIMPLER_AREA_ALIGN"),
            ("MAX_AREAS", "SIMPLER_MAX_AREAS"),
            ("CONTEXT_GENERATION", "SIMPLER_AREA_CONTEXT_GENERATION"),
            ("CANCELLED", "SIMPLER_AREA_CANCELLED"),
            ("RECORDS", "SIMPLER_AREA_RECORDS"),
            ("RECORD_BYTES", "SIMPLER_RECORD_BYTES"),
            ("RECORD_GENERATION", "SIMPLER_RECORD_GENERATION"),
            ("RECORD_ADDRESS", "SIMPLER_RECORD_ADDRESS"),
            ("RECORD_LENGTH", "SIMPLER_RECORD_LENGTH"),
            ("RECORD_ID_AND_RESERVED", "SIMPLER_RECORD_ID_AND_RESERVED"),
            ("BUSY", "SIMPLER_AREA_BUSY"),
            ("FIRST_REFUSAL", "SIMPLER_AREA_FIRST_REFUSAL"),
            ("REFUSALS", "SIMPLER_AREA_REFUSALS"),
            ("VERDICT_WORK", "SIMPLER_AREA_VERDICT_WORK"),
            ("VERDICT_LEAVE", "SIMPLER_AREA_VERDICT_LEAVE"),
        ],
        has_attributes: true,
    },
    Header {
        name: "callable.h",
        about: "A callable image: one header, the orchestration binary at the start of the storage, then the children,\n\
                each 64-aligned from the start of the storage. The layout is frozen: old images keep working.",
        includes: &[],
        sources: &["core/src/callable/layout.rs", "core/src/callable/signature.rs"],
        types: &[
            ("Direction", "SimplerDirection"),
            ("RawCallable", "SimplerChipCallable"),
            ("RawChild", "SimplerCoreCallable"),
        ],
        constants: &[
            ("HEADER_BYTES", "SIMPLER_CALLABLE_HEADER_BYTES"),
            ("IMAGE_ALIGN", "SIMPLER_CALLABLE_ALIGN"),
            ("CHILD_HEADER_BYTES", "SIMPLER_CHILD_HEADER_BYTES"),
            ("CHILD_CODE", "SIMPLER_CHILD_CODE"),
            ("CHILD_ALIGN", "SIMPLER_CHILD_ALIGN"),
            ("MAX_SIGNATURE", "SIMPLER_MAX_SIGNATURE"),
            ("MAX_CHILDREN", "SIMPLER_MAX_CHILDREN"),
            ("NAME_BYTES", "SIMPLER_NAME_BYTES"),
            ("MAX_CHILD_SIGNATURE", "SIMPLER_MAX_CHILD_SIGNATURE"),
            ("MAX_CHILD_SCALARS", "SIMPLER_MAX_CHILD_SCALARS"),
            ("MAX_CONTEXT_BYTES", "SIMPLER_MAX_CONTEXT_BYTES"),
        ],
        has_attributes: true,
    },
    Header {
        name: "operator.h",
        about: "What an operator's code includes. An orchestration runs on the AICPU-class core under the name that the\n\
                image gives; a child is called `tenon_kernel` and runs on the AICore workers, once per block, blocks in\n\
                parallel. Both answer 0, or anything else for failure. Every pointer is device memory and lives until\n\
                the launch has ended.",
        includes: &["wire.h"],
        sources: &["core/src/device.rs"],
        types: &[("OperatorApi", "TenonOperatorApi"), ("Orchestration", "TenonOrchestration"), ("Child", "TenonChild")],
        constants: &[],
        has_attributes: false,
    },
    Header {
        name: "runtime.h",
        about: "The host runtime: kernel mode on a borrowed device, program mode on an owned one. Answers are 0 or a\n\
                code of status.h. A context serves one thread at a time: a second one gets\n\
                PTO_RUNTIME_ERR_INVALID_STATE and changes nothing.",
        includes: &["status.h", "wire.h"],
        sources: &["core/src/wire/config.rs", "core/src/wire/errors.rs", "host-shell/runtime/src"],
        types: &[
            ("RuntimeEnv", "SimplerRuntimeEnv"),
            ("CallConfig", "SimplerCallConfig"),
            ("ContextErrors", "SimplerContextErrors"),
        ],
        constants: &[],
        has_attributes: true,
    },
    Header {
        name: "sim.h",
        about: "The simulated device's vendor library. Answers are 0 or a number of ACL's; `tenon_sim_error_name` tells\n\
                its name, and `tenon_sim_recent_error_message` what was wrong. Besides what a function lists, each\n\
                may answer 107002 (no current device), 107017 (not a handle, or not any more) and 507010 (the device\n\
                is lost). A null stream is the default stream of the calling thread's device; the host runtime\n\
                cannot borrow that one. Device addresses fault when the host dereferences them.",
        includes: &[],
        sources: &[
            "host-shell/sim/src/host/copy.rs",
            "host-shell/sim/src/host/event.rs",
            "host-shell/sim/src/host/capture/rules.rs",
            "host-shell/sim/src/host/capture/mod.rs",
            "host-shell/sim/src/ffi",
        ],
        types: &[
            ("Direction", "TenonSimCopyKind"),
            ("Mode", "TenonSimCaptureMode"),
            ("Status", "TenonSimCaptureStatus"),
        ],
        constants: &[("SYNC", "TENON_SIM_EVENT_SYNC")],
        has_attributes: false,
    },
];
