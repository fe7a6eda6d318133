//! Links, queues, losses and routes against sums that can be done by hand.

mod fast_path;
mod lab;
mod limits;
mod marking;
mod queueing;
mod routes;
mod transmission;
