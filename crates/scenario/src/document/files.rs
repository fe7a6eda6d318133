//! Files that a scenario names, read by its caller.

use std::fmt;
use std::sync::Arc;

/// Function that reads a text file by the name in the scenario, or says why it cannot.
type ReadFile = dyn Fn(&str) -> Result<String, String> + Send + Sync;

/// Access to the files beside a scenario; the default has none.
#[derive(Clone, Default)]
pub struct Files(Option<Arc<ReadFile>>);

impl Files {
    /// Creates an access that reads files with a function.
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
