//! Links, queues, impairments, topologies and routes, generic over what a packet carries.
