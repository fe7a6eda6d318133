//! The loader: every mistake gets one line that names its key and says what would do, and nothing makes it panic.

mod fuzz;
mod messages;
