//! The scenario model: validation, building and running a world, collecting measures.
