//! kc compiles kernels written in a subset of Python, source-compatible with NVIDIA Warp's kernel
//! language, and the gradients of these kernels: to native code that runs at once, to PTX, and to
//! CUDA C++.
//!
//! This is the library of the `kc` command. A Rust program compiles kernels with a [`Compiler`] and
//! calls them on slices of its own; there is no Python interpreter in it.
//!
//! ```
//! use kc::{Arg, Compiler};
//!
//! let module = Compiler::new().compile_text("saxpy.py", r#"
//! import warp as wp
//!
//! @wp.kernel
//! def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
//!     i = wp.tid()
//!     y[i] = a * x[i] + y[i]
//! "#)?;
//! let saxpy = module.kernel("saxpy")?;
//!
//! let x = vec![1.0f32; 1000];
//! let mut y = vec![2.0f32; 1000];
//! saxpy.launch(x.len(), &mut [Arg::value(3.0f32), Arg::read(&x), Arg::write(&mut y)])?;
//! assert!(y.iter().all(|&y| y == 5.0));
//! # Ok::<(), kc::Error>(())
//! ```
//!
//! [`Compiler::compile`] takes a file instead of a text. [`Arg`] lists what can be passed for each
//! type of the kernel language: arrays stay in the program's memory, and are borrowed for the
//! launch. A kernel is compiled when it is first launched; it runs on all cores, and several
//! threads may launch it at once.
//!
//! # Errors
//!
//! Whatever can go wrong is an [`Error`] with the code, the text and the source lines that the `kc`
//! command shows:
//!
//! ```
//! # let module = kc::Compiler::new().compile_text("saxpy.py", r#"
//! # import warp as wp
//! #
//! # @wp.kernel
//! # def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
//! #     i = wp.tid()
//! #     y[i] = a * x[i] + y[i]
//! # "#)?;
//! # let saxpy = module.kernel("saxpy")?;
//! # use kc::Arg;
//! let mut y = [0.0f32; 10];
//! let error = saxpy.launch(11, &mut [Arg::value(3.0f32), Arg::read(&[1.0f32; 10]), Arg::write(&mut y)]).unwrap_err();
//! assert_eq!(error.code(), "E1101");
//! assert!(error.message().starts_with("index 10 is out of bounds for dimension 0 of `x`"));
//! assert_eq!(error.location().unwrap().line, 7);
//! # Ok::<(), kc::Error>(())
//! ```
//!
//! # Gradients
//!
//! [`Kernel::gradient`] runs a kernel and then its derivative. The gradient of a result says what
//! is asked for, and the gradients of what the result depends on are added to:
//!
//! ```
//! # use kc::Arg;
//! # let module = kc::Compiler::new().compile_text("square.py", r#"
//! # import warp as wp
//! #
//! # @wp.kernel
//! # def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
//! #     i = wp.tid()
//! #     y[i] = x[i] * x[i]
//! # "#)?;
//! # let square = module.kernel("square")?;
//! let (x, mut x_grad) = ([1.0f32, 2.0, 3.0], [0.0f32; 3]);
//! let (mut y, mut y_grad) = ([0.0f32; 3], [1.0f32; 3]);
//! square.gradient(3, &mut [Arg::read(&x).grad(&mut x_grad), Arg::write(&mut y).grad(&mut y_grad)])?;
//! assert_eq!(y, [1.0, 4.0, 9.0]);
//! assert_eq!(x_grad, [2.0, 4.0, 6.0]);
//! # Ok::<(), kc::Error>(())
//! ```
//!
//! # Other machines
//!
//! [`Module::ptx`], [`Module::cuda`], [`Module::header`] and [`Module::ir`] give the kernels and
//! their gradients as texts for other compilers. [`Kernel::on`] launches on another device:
//! `kernel.on("cuda")?` on the first NVIDIA GPU.
//!
//! # Features
//!
//! ```toml
//! [dependencies]
//! kc = { path = "../kc", default-features = false, features = ["llvm-dynamic"] }
//! ```
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` | the `kc` command and what only it needs; not for programs that link the library |
//! | `cuda` | launches on NVIDIA GPUs, through the driver that the machine has; without it the device `cuda` is an error (`E1104`) |
//! | `llvm-dynamic`, `llvm-static` | how LLVM 22 is linked: exactly one of them |
//!
//! # Map of the source
//!
//! For who works on kc. Data flows one way; each stage is one folder with one output type:
//!
//! ```text
//! source.py -- syntax --> Parsed -- check --> Checked -- lower --> ir::Module -- passes -->
//! ir::Module -- codegen --> artefacts
//! ```
//!
//! | folder | question it answers |
//! |---|---|
//! | `limits` | how much of what is compiled? |
//! | `source` | where is this text? |
//! | `diag` | what is wrong, and how is it said? |
//! | `types` | what data do kernels work on? |
//! | `ids` | how do things refer to one another? |
//! | `memo` | what is kept from program to program? |
//! | `html` | how does text go into HTML? |
//! | `abi` | how do arguments lie in memory? |
//! | `syntax` | what did the user write? |
//! | `library` | which built-ins are there? |
//! | `check` | what does it mean? |
//! | `ir` | what is to be computed, exactly? |
//! | `analysis` | what is true of IR, whatever the input? |
//! | `lower` | how does meaning become IR? |
//! | `link` | which library functions are compiled already? |
//! | `passes` | how is IR simplified? |
//! | `autodiff` | what is the gradient of a kernel? |
//! | `codegen` | how does IR become PTX, CUDA text, host code, headers? |
//! | `ptx` | what does a PTX text say? |
//! | `sim` | what does a GPU do with it? |
//! | `profile` | what would it cost there, and why? |
//! | `run` | how is a kernel executed? |
//! | `process` | what does each process have one of? |
//! | `driver` | in what order do the stages run? |
//! | `engines` | how are meshes, trees of boxes and hash grids built, and what do their ids point to? |
//! | `embed` | how does a Rust program call kernels? |
//! | `dataset` | how are verified kernels made in bulk? |
//! | `ide` | what does an editor want to know about a place in a file? |
//! | `lsp` | how is that said in the Language Server Protocol? |
//! | `explore` | what does a kernel become and cost, side by side in a browser? |
//! | `cli` | what can the user ask for? |

// The insides of kc are documented for who works on it
// (`cargo doc --document-private-items --document-hidden-items`): there public items may lead to
// private ones. What users see may not (`embed`).
#![allow(rustdoc::private_intra_doc_links)]

#[doc(hidden)]
pub mod abi;
#[doc(hidden)]
pub mod analysis;
#[doc(hidden)]
pub mod autodiff;
#[doc(hidden)]
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod codegen;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod dataset;
#[doc(hidden)]
pub mod diag;
#[doc(hidden)]
pub mod driver;
#[doc(hidden)]
pub mod embed;
pub mod engines;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod explore;
mod html;
#[doc(hidden)]
pub mod ide;
#[doc(hidden)]
pub mod ids;
#[doc(hidden)]
pub mod ir;
#[doc(hidden)]
pub mod library;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod link;
#[doc(hidden)]
pub mod lower;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod lsp;
mod memo;
#[doc(hidden)]
pub mod passes;
mod process;
#[doc(hidden)]
pub mod profile;
#[doc(hidden)]
pub mod ptx;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod sim;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod syntax;
#[doc(hidden)]
pub mod types;

pub use driver::Compiler;
pub use embed::{Arg, Dim, Element, Error, Kernel, Location, Module, Outcome, Warning};
