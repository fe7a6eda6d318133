//! Files that a scenario names: whoever loads it reads them.

use std::fmt;
use std::sync::Arc;

/// Reads a text file by the name that a scenario calls it, or says why not.
type ReadFile = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// Access to files beside a scenario: none unless whoever loads it gives some.
#[derive(Clone, Default)]
pub struct Files(Option<Arc<ReadFile>>);

impl Files {
    /// Files read by a function.
    pub fn new(read: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static) -> Files {
        Files(Some(Arc::new(read)))
    }

    pub(crate) fn read(&self, name: &str) -> Result<String, String> {
        self.0.as_ref().map_or_else(|| Err("there are no files here".into()), |read| read(name))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Files").field(&self.0.is_some()).finish()
    }
}
