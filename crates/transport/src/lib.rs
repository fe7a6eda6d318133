//! Transport protocols as machines without a clock or a socket.
