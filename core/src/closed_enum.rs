//! One list per set of numbers that leave the crate.
//!

/// Declares an enumeration whose numbers are part of an interface.
///
/// # Grammar
///
/// `pub enum Name: Repr { Variant = number, … }`, each variant with its document line. `Variant = number => "name"` gives a name
/// that is part of the interface too; without one the name is the variant's.
///
/// Gives `ALL`, `name()`, `code()` and `TryFrom<Repr>`, whose error is the unknown number: numbers from the other side are data.
macro_rules! closed_enum {
    ($(#[$meta:meta])* pub enum $name:ident: $repr:ident {
        $($(#[$vmeta:meta])* $variant:ident = $code:literal $(=> $text:literal)?,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr($repr)]
        pub enum $name { $($(#[$vmeta])* $variant = $code,)+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name as the declaration gives it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => closed_enum!(@name $variant $($text)?),)+ }
            }

            /// The number that crosses the boundary.
            #[must_use]
            pub const fn code(self) -> $repr {
                self as $repr
            }
        }

        impl TryFrom<$repr> for $name {
            type Error = $repr;

            fn try_from(code: $repr) -> Result<Self, $repr> {
                match code { $($code => Ok(Self::$variant),)+ other => Err(other) }
            }
        }
    };
    (@name $variant:ident) => { stringify!($variant) };
    (@name $variant:ident $text:literal) => { $text };
}
