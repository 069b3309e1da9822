//! How does a call end? With a number of `CUresult`, and a sentence for people where the client did
//! something wrong.

use std::ffi::{CStr, c_int};

macro_rules! statuses {
    ($($name:ident = $number:literal $text:literal $words:literal;)*) => {
        /// A `CUresult` (CUDA Driver API, "Data types used by CUDA driver").
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Status {
            $($name = $number,)*
        }

        impl Status {
            const ALL: &[Status] = &[$(Status::$name,)*];

            /// `CUDA_ERROR_INVALID_VALUE`, and what it means.
            pub fn words(self) -> (&'static CStr, &'static CStr) {
                match self {
                    $(Status::$name => ($text, $words),)*
                }
            }
        }
    };
}

statuses! {
    Success = 0 c"CUDA_SUCCESS" c"no error";
    InvalidValue = 1 c"CUDA_ERROR_INVALID_VALUE" c"invalid argument";
    OutOfMemory = 2 c"CUDA_ERROR_OUT_OF_MEMORY" c"out of memory";
    NotInitialized = 3 c"CUDA_ERROR_NOT_INITIALIZED" c"initialization error";
    InvalidDevice = 101 c"CUDA_ERROR_INVALID_DEVICE" c"invalid device ordinal";
    InvalidImage = 200 c"CUDA_ERROR_INVALID_IMAGE" c"device kernel image is invalid";
    InvalidContext = 201 c"CUDA_ERROR_INVALID_CONTEXT" c"invalid device context";
    NoBinaryForGpu = 209 c"CUDA_ERROR_NO_BINARY_FOR_GPU" c"no kernel image is available for execution on the device";
    PeerUnsupported = 217 c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" c"peer access is not supported between these two devices";
    InvalidPtx = 218 c"CUDA_ERROR_INVALID_PTX" c"a PTX JIT compilation failed";
    UnsupportedPtx = 222 c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION" c"the provided PTX was compiled with an unsupported toolchain";
    FileNotFound = 301 c"CUDA_ERROR_FILE_NOT_FOUND" c"file not found";
    InvalidHandle = 400 c"CUDA_ERROR_INVALID_HANDLE" c"invalid resource handle";
    NotFound = 500 c"CUDA_ERROR_NOT_FOUND" c"named symbol not found";
    NotReady = 600 c"CUDA_ERROR_NOT_READY" c"device not ready";
    IllegalAddress = 700 c"CUDA_ERROR_ILLEGAL_ADDRESS" c"an illegal memory access was encountered";
    OutOfResources = 701 c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" c"too many resources requested for launch";
    LaunchTimeout = 702 c"CUDA_ERROR_LAUNCH_TIMEOUT" c"the launch timed out and was terminated";
    PeerEnabled = 704 c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED" c"peer access is already enabled";
    PeerNotEnabled = 705 c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED" c"peer access has not been enabled";
    ContextDestroyed = 709 c"CUDA_ERROR_CONTEXT_IS_DESTROYED" c"context is destroyed";
    Assert = 710 c"CUDA_ERROR_ASSERT" c"device-side assert triggered";
    HostRegistered = 712 c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" c"part or all of the requested memory range is already mapped";
    HostNotRegistered = 713 c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" c"pointer does not correspond to a registered memory region";
    MisalignedAddress = 716 c"CUDA_ERROR_MISALIGNED_ADDRESS" c"misaligned address";
    InvalidPc = 718 c"CUDA_ERROR_INVALID_PC" c"invalid program counter";
    LaunchFailed = 719 c"CUDA_ERROR_LAUNCH_FAILED" c"unspecified launch failure";
    CooperativeTooLarge = 720 c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" c"too many blocks in cooperative launch";
    NotSupported = 801 c"CUDA_ERROR_NOT_SUPPORTED" c"operation not supported";
    CaptureUnsupported = 900 c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" c"operation not permitted when stream is capturing";
    CaptureInvalidated = 901 c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" c"operation failed due to a previous error during capture";
    IllegalState = 401 c"CUDA_ERROR_ILLEGAL_STATE" c"the operation cannot be performed in the present state";
    InvalidCluster = 912 c"CUDA_ERROR_INVALID_CLUSTER_SIZE" c"invalid cluster configuration";
    GraphUpdate = 910 c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" c"the graph update was not performed";
    Unknown = 999 c"CUDA_ERROR_UNKNOWN" c"unknown error";
}

impl Status {
    /// The status of this number.
    pub fn of(number: c_int) -> Option<Status> {
        Status::ALL.iter().copied().find(|status| *status as c_int == number)
    }

    /// Fails with a sentence for people, which says what is wrong and what to do.
    pub fn because(self, why: impl Into<String>) -> Fail {
        Fail { status: self, why: Some(why.into()) }
    }
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fail {
    pub status: Status,
    /// None: the number says enough, as clients ask to find out.
    pub why: Option<String>,
}

impl From<Status> for Fail {
    fn from(status: Status) -> Fail {
        Fail { status, why: None }
    }
}

pub type Result<T = ()> = std::result::Result<T, Fail>;
