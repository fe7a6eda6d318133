//! Declaration of counters with the columns of results that show them.

/// Declares a structure of counters, each with the column that it is counted under, if there is one: at the sender, or with
/// `receiver` before the column's name, at the receiver.
///
/// ```
/// vazao_transport::common::counters! {
///     /// Counters of an endpoint.
///     pub struct Stats {
///         /// Packets sent again.
///         pub repeated: u64 = "retransmissions",
///         /// Packets that brought nothing new.
///         pub known: u64 = receiver "duplicates",
///         /// Time at which it was opened.
///         pub opened: Option<vazao_engine::Time>,
///     }
/// }
///
/// let stats = Stats { repeated: 2, known: 1, opened: None };
/// assert!(stats.counts().eq([("retransmissions", 2)]));
/// assert!(stats.arrivals().eq([("duplicates", 1)]));
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* $visible:vis struct $name:ident {
        $($(#[$doc:meta])* $shown:vis $counter:ident: $type:ty $(= $column:literal)? $(= receiver $arrived:literal)?),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $visible struct $name {
            $($(#[$doc])* $shown $counter: $type,)+
        }

        impl $name {
            /// Returns the counts of a sender, each with its column.
            pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$($(($column, self.$counter),)?)+].into_iter()
            }
            /// Returns the counts of a receiver, each with its column.
            pub fn arrivals(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$($(($arrived, self.$counter),)?)+].into_iter()
            }
        }
    };
}

pub use counters;
