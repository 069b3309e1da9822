//! The CUDA driver API over kc's simulator: a program that is written for `libcuda.so.1` runs its
//! PTX on this machine, and learns what it does wrong. All that is here is public in `cuda.h`.
//!
//! | file | question it answers |
//! |---|---|
//! | `table` | which functions are there, and under which names? |
//! | `driver` | what does the driver know, and what happens around each call? |
//! | `settings`, `client` | what did the user ask for, and at which line is the client? |
//! | `status`, `pointers`, `handles` | how does a call end, what do clients hand over, what do they hold? |
//! | `devices`, `contexts` | what is a device, and in which context does a thread work? |
//! | `memory`, `copies`, `pools` | who has which memory, and how do bytes get there? |
//! | `arrays` | what are arrays, textures and surfaces? |
//! | `images`, `linking`, `modules` | where is the PTX, how do texts become one, and what is in it? |
//! | `launch`, `interrupt`, `streams`, `graphs` | what is run, and what ends it early? |
//! | `objects` | what do graphs keep alive for the client? |
//! | `order`, `queue` | what orders the work of streams, and in what order does it run? |
//! | `findings` | how does the user learn what is wrong? |

#![allow(clippy::too_many_arguments)]

mod arrays;
mod client;
mod conditions;
mod contexts;
mod copies;
mod devices;
mod driver;
mod findings;
mod graphs;
mod handles;
mod images;
mod interrupt;
mod launch;
mod linking;
mod memory;
mod modules;
mod objects;
mod order;
mod pointers;
mod pools;
mod queue;
mod settings;
mod status;
mod streams;
mod table;
mod tensors;
