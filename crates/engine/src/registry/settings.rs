//! Typed parameters: one declaration makes the table that users see and the struct that an algorithm reads.

use super::{Parameter, Parameters, Value};
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
    u64: Value::Number(x) => x as u64, Value::Size(x) => x.get();
    usize: Value::Number(x) => x as usize;
    bool: Value::Flag(x) => x;
    String: Value::Text(x) => x;
    Vec<String>: Value::Names(x) => x;
    Vec<Parameters>: Value::Tables(x) => x;
    Duration: Value::Duration(x) => x;
    Rate: Value::Rate(x) => x;
    Vec<Rate>: Value::Rates(x) => x;
    Vec<u64>: Value::Integers(x) => x;
    Capacity: Value::Capacity(x) => x;
    Law: Value::Distribution(x) => x.law;
    (String, Parameters): Value::Entry(kind, parameters) => (kind, parameters);
}

/// A parameter that may be left out, or be `"auto"`.
impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Option<Value>) -> Option<Self> {
        match value {
            None => Some(None),
            Some(Value::Text(word)) if word == "auto" => Some(None),
            value => T::from_value(value).map(Some),
        }
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
    /// Creates a parameter that several algorithms have; each one's [`parameters!`](crate::parameters) give it its name.
    pub const fn shared(kind: super::Kind, default: &'static str, help: &'static str) -> Parameter {
        Parameter::new("", kind, default, help)
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

/// Declares the parameters of an algorithm, or of several: a struct with a typed field for each, which is made
/// [from](From) [`Parameters`], and their table, its constant `PARAMETERS`.
///
/// A field stands for kind, default and help of a parameter; for kind and help of one that is required; or for a
/// [shared](Parameter::shared) one. It gives the parameter its name (`r#for` is `for`). An [`Option`] is `None` where there
/// is no value, or `"auto"`.
///
/// ```
/// use vazao_engine::registry::{Kind, Parameter, Parameters, choice, parameters};
///
/// choice! {
///     enum Profile { Source = "rfc" | "paper", Linux = "linux" }
/// }
///
/// const ECN: Parameter = Parameter::shared(Kind::Flag, "true", "whether marks count");
///
/// parameters! {
///     struct Settings {
///         beta: f64 = Kind::Number(0.0, 1.0), "0.7", "what is kept of the window on loss";
///         buffer: Option<u64> = Kind::SizeOrAuto(1), "auto", "how much is stored";
///         profile: Profile = Profile::KIND, "rfc", "whose rules";
///         ecn: bool = ECN;
///         r#for: u64 = Kind::Integer(1, 9), "how many round trips";
///     }
/// }
///
/// assert!(Settings::PARAMETERS.iter().map(|p| p.name).eq(["beta", "buffer", "profile", "ecn", "for"]));
/// let given = [("for".to_owned(), vazao_engine::registry::Raw::Number(3.0))].into();
/// let settings = Settings::from(&Parameters::resolve(Settings::PARAMETERS, &given).unwrap());
/// assert_eq!((settings.beta, settings.buffer, settings.ecn, settings.r#for), (0.7, None, true, 3));
/// assert!(settings.profile == Profile::Source);
/// ```
#[macro_export]
macro_rules! parameters {
    (@ $field:ident $shared:expr) => { $shared.named(stringify!($field)) };
    (@ $field:ident $kind:expr, $help:expr) => {
        $crate::registry::Parameter::required("", $kind, $help).named(stringify!($field))
    };
    (@ $field:ident $kind:expr, $default:expr, $help:expr) => {
        $crate::registry::Parameter::shared($kind, $default, $help).named(stringify!($field))
    };
    ($($(#[$meta:meta])* $visible:vis struct $name:ident {
        $($(#[$doc:meta])* $shown:vis $field:ident: $type:ty = $($value:expr),+;)+
    })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $visible struct $name {
            $($(#[$doc])* $shown $field: $type,)+
        }

        impl $name {
            /// Parameters that a user may set.
            pub const PARAMETERS: &'static [$crate::registry::Parameter] =
                &[$($crate::parameters!(@ $field $($value),+)),+];
        }

        impl From<&$crate::registry::Parameters> for $name {
            fn from(parameters: &$crate::registry::Parameters) -> Self {
                $name { $($field: parameters.read(&$crate::parameters!(@ $field $($value),+)),)+ }
            }
        }
    )+};
}

/// Declares a [choice](super::Kind::Choice): an enum, with the words for each of its variants. The words are its constant
/// `KIND`.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $visible:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $($word:literal)|+),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// The words, of which a user writes one.
            pub const KIND: $crate::registry::Kind = $crate::registry::Kind::Choice(&[$($($word),+),+]);
        }

        impl $crate::registry::FromValue for $name {
            fn from_value(value: Option<$crate::registry::Value>) -> Option<Self> {
                let Some($crate::registry::Value::Text(word)) = value else { return None };
                match word.as_str() {
                    $($($word)|+ => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
