//! Typed parameters: one declaration makes the table that users see and the struct that an algorithm reads.

use super::{Change, Parameter, Parameters, Value};
use crate::{Capacity, Duration, Law, Rate};

/// Type of a field that a parameter fills in.
pub trait FromValue: Sized {
    /// Converts a parameter's value, if it has one; `None` when that is not of this type.
    fn from_value(value: Option<Value>) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $($pattern:pat => $value:expr),+;)+) => {$(
        impl FromValue for $type {
            fn from_value(value: Option<Value>) -> Option<Self> {
                match value? {
                    $($pattern => Some($value),)+
                    _ => None,
                }
            }
        }
    )+};
}

from_value! {
    f64: Value::Number(x) => x;
    u8: Value::Number(x) => x as u8;
    u16: Value::Number(x) => x as u16;
    u32: Value::Number(x) => x as u32;
    u64: Value::Number(x) => x as u64, Value::Size(x) => x.get();
    usize: Value::Number(x) => x as usize;
    bool: Value::Flag(x) => x;
    String: Value::Text(x) => x;
    Vec<String>: Value::Names(x) => x;
    Vec<Parameters>: Value::Tables(x) => x;
    Duration: Value::Duration(x) => x;
    Rate: Value::Rate(x) => x;
    Vec<Rate>: Value::Rates(x) => x;
    Capacity: Value::Capacity(x) => x;
    Law: Value::Distribution(x) => x.law;
    (String, Parameters): Value::Entry(kind, parameters) => (kind, parameters);
}

/// A parameter that may be left out, or be `"auto"`, or `"none"` where that is not one of the type's own words.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Option<Value>) -> Option<Self> {
        let Some(value) = value.filter(|value| *value != Value::Text("auto".into())) else { return Some(None) };
        let is_none = value == Value::Text("none".into());
        T::from_value(Some(value)).map(Some).or(is_none.then_some(None))
    }
}

/// Whole numbers, none where the parameter is left out.
impl FromValue for Vec<u64> {
    fn from_value(value: Option<Value>) -> Option<Self> {
        match value {
            None => Some(Vec::new()),
            Some(Value::Integers(x)) => Some(x),
            _ => None,
        }
    }
}

/// Changes in order of time, none where the parameter is left out.
impl FromValue for Vec<Change> {
    fn from_value(value: Option<Value>) -> Option<Self> {
        let mut changes = match value {
            None => Vec::new(),
            Some(Value::Schedule(changes)) => changes,
            _ => return None,
        };
        changes.sort_by_key(|change| change.at);
        Some(changes)
    }
}

/// A parameter in the table that others than its struct read, such as an entry of another registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere;

impl FromValue for Elsewhere {
    fn from_value(_: Option<Value>) -> Option<Self> {
        Some(Elsewhere)
    }
}

impl Parameters {
    /// Returns the value of `parameter`, its default where none was given.
    ///
    /// # Panics
    /// When it is not of this type, or missing: a bug in the registry entry, never a user's mistake.
    pub fn read<T: FromValue>(&self, parameter: &Parameter) -> T {
        let Parameter { name, kind, default, .. } = parameter;
        let default = || (!default.is_empty()).then(|| kind.read_default(default));
        T::from_value(self.get(name).cloned().or_else(default))
            .unwrap_or_else(|| panic!("parameter {name} is not a {}", std::any::type_name::<T>()))
    }
}

impl Parameter {
    /// Creates a parameter that several algorithms have; each one's [`parameters!`](crate::parameters) give it its
    /// name.
    pub const fn shared(kind: super::Kind, default: &'static str, help: &'static str) -> Parameter {
        Parameter::new("", kind, default, help)
    }

    /// Returns it with an example.
    pub const fn eg(self, example: &'static str) -> Parameter {
        Parameter { example, ..self }
    }

    /// Returns it with the name of its field, which is raw where the name is a keyword (`r#for`).
    pub const fn named(self, field: &'static str) -> Parameter {
        let name = match field.as_bytes() {
            [b'r', b'#', name @ ..] => name,
            name => name,
        };
        let Ok(name) = std::str::from_utf8(name) else { panic!("an identifier is UTF-8") };
        Parameter { name, ..self }
    }
}

/// Declares the parameters of an algorithm or a protocol, or of several: a struct with a typed field for each, which is
/// made [from](From) [`Parameters`], and their table, its constant `PARAMETERS`.
///
/// A field stands for kind, default and help of a parameter; for kind and help of one that is required; or for a
/// [shared](Parameter::shared) one. It gives the parameter its name (`r#for` is `for`); help is its documentation. An
/// [`Option`] is `None` where there is no value, or `"auto"`. An [`Elsewhere`] is in the table only.
///
/// A default that follows from fields before stands after `else`. Fields that are no parameters stand in parentheses
/// after the struct's name; it is then made from a tuple of [`Parameters`] and their values.
///
/// ```
/// use vazao_engine::registry::{Kind, Parameter, Parameters, choice, parameters};
///
/// choice! {
///     enum Profile { Source = "rfc" | "paper", Linux = "linux" }
/// }
///
/// choice! {
///     enum Timer or "auto" { Exact = "exact", Coarse = "coarse" }
/// }
///
/// const ECN: Parameter = Parameter::shared(Kind::Flag, "true", "whether marks count");
///
/// parameters! {
///     struct Settings(mss: u64) {
///         beta: f64 = Kind::Number(0.0, 1.0), "0.7", "what is kept of the window on loss";
///         buffer: Option<u64> = Kind::SizeOrAuto(1), "auto", "how much is stored";
///         profile: Profile = Profile::KIND, "rfc", "whose rules";
///         timer: Timer = Timer::KIND, "auto", "how exact timers are",
///             else if profile == Profile::Linux { Timer::Coarse } else { Timer::Exact };
///         ecn: bool = ECN;
///         r#for: u64 = Kind::Integer(1, 9), "how many round trips";
///     }
/// }
///
/// assert!(Settings::PARAMETERS.iter().map(|p| p.name).eq(["beta", "buffer", "profile", "timer", "ecn", "for"]));
/// let given = [("for".to_owned(), vazao_engine::registry::Raw::Number(3.0))].into();
/// let settings = Settings::from((&Parameters::resolve(Settings::PARAMETERS, &given).unwrap(), 1448));
/// assert_eq!((settings.beta, settings.buffer, settings.ecn, settings.r#for), (0.7, None, true, 3));
/// assert_eq!((settings.profile, settings.timer, settings.mss), (Profile::Source, Timer::Exact, 1448));
/// ```
#[macro_export]
macro_rules! parameters {
    (@parameter $field:ident $shared:expr) => { $shared.named(stringify!($field)) };
    (@parameter $field:ident $kind:expr, $help:expr) => {
        $crate::registry::Parameter::required("", $kind, $help).named(stringify!($field))
    };
    (@parameter $field:ident $kind:expr, $default:expr, $help:expr) => {
        $crate::registry::Parameter::shared($kind, $default, $help).named(stringify!($field))
    };
    // An attribute takes a literal, which `concat!` makes of the expression.
    (@help $shared:expr) => { "" };
    (@help $kind:expr, $help:expr) => { concat!($help) };
    (@help $kind:expr, $default:expr, $help:expr) => { concat!($help) };
    (@read $parameters:ident $parameter:expr) => { $parameters.read(&$parameter) };
    (@read $parameters:ident $parameter:expr, $other:expr) => {
        $parameters.read::<Option<_>>(&$parameter).unwrap_or_else(|| $other)
    };
    ($($(#[$meta:meta])* $visible:vis struct $name:ident
        $(($($(#[$note:meta])* $open:vis $given:ident: $what:ty),+ $(,)?))?
    {
        $($shown:vis $field:ident: $type:ty = $($value:expr),+ $(, else $other:expr)?;)+
    })+) => {$(
        $(#[$meta])*
        #[derive(Clone)]
        $visible struct $name {
            $(#[doc = $crate::parameters!(@help $($value),+)] $shown $field: $type,)+
            $($($(#[$note])* $open $given: $what,)+)?
        }

        impl $name {
            /// Parameters that a user may set.
            pub const PARAMETERS: &'static [$crate::registry::Parameter] =
                &[$($crate::parameters!(@parameter $field $($value),+)),+];
        }

        impl From<(&$crate::registry::Parameters $($(, $what)+)?)> for $name {
            fn from((parameters $($(, $given)+)?): (&$crate::registry::Parameters $($(, $what)+)?)) -> Self {
                $(let $field: $type = $crate::parameters!(
                    @read parameters $crate::parameters!(@parameter $field $($value),+) $(, $other)?
                );)+
                $name { $($field,)+ $($($given,)+)? }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($name));
                $(shown.field(stringify!($field), &self.$field);)+
                shown.finish_non_exhaustive()
            }
        }
    )+};
}

/// Declares a [choice](super::Kind::Choice): an enum, with the words for each of its variants. The words are its
/// constant `KIND`, and `ALL` has the variant of each. With `or "auto"` or `or "none"` after its name that is a word
/// too, for none of them.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $visible:vis enum $name:ident $(or $other:literal)? {
        $($(#[$doc:meta])* $variant:ident = $($word:literal)|+),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// The words, of which a user writes one.
            pub const KIND: $crate::registry::Kind =
                $crate::registry::Kind::Choice(&[$($other,)? $($($word),+),+]);
            /// The variants by the words for them.
            pub const ALL: &'static [(&'static str, $name)] = &[$($(($word, $name::$variant)),+),+];
        }

        impl $crate::registry::FromValue for $name {
            fn from_value(value: Option<$crate::registry::Value>) -> Option<Self> {
                let Some($crate::registry::Value::Text(word)) = value else { return None };
                $name::ALL.iter().find(|(known, _)| *known == word).map(|&(_, variant)| variant)
            }
        }
    };
}
