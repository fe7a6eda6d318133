//! Algorithms of a user's own on a link, beside those of the registries.

use crate::loss::LossModel;
use crate::queue::{Discipline, Limit, Setting};
use std::fmt;
use std::sync::Arc;
use vazao_engine::RandomStream;

/// Makes a loss model for a direction of a link, from its name and its random stream.
pub type LossFactory = Arc<dyn Fn(&str, RandomStream) -> Box<dyn LossModel> + Send + Sync>;
/// Makes a queue discipline for a direction of a link, from its name, its limit and its properties.
pub type QueueFactory = Arc<dyn Fn(&str, Limit, &Setting) -> Box<dyn Discipline> + Send + Sync>;

/// Algorithm of a user's own.
#[derive(Clone)]
pub struct Own<F> {
    /// Name.
    pub name: String,
    /// Canonical description: what decides how it behaves.
    pub description: String,
    /// Function that makes an instance.
    pub build: F,
}

impl<F> fmt::Debug for Own<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("description", &self.description).finish_non_exhaustive()
    }
}
