//! Engine for web pages: a scenario in, tables, a recording and captures out.
//!
//! In a page it is the module `page`; a server without an engine for pages [answers](answer()) by itself.

mod answer;
#[cfg(target_arch = "wasm32")]
pub mod page;

pub use answer::answer;
