//! Links, queues, losses and routes against sums that can be done by hand.

mod active;
mod ahead;
mod courses;
mod disciplines;
mod entrance;
mod fast_path;
mod flow_queueing;
mod impairments;
mod lab;
mod limits;
mod losses;
mod marking;
mod places;
mod queueing;
mod rates;
mod routes;
mod runs;
mod transmission;
