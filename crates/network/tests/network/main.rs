//! Links, queues, losses and routes against sums that can be done by hand.

mod active;
mod disciplines;
mod fast_path;
mod flow_queueing;
mod lab;
mod limits;
mod marking;
mod queueing;
mod routes;
mod transmission;
