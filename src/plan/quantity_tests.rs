//! What is read as a quantity, and what is not.

use proptest::prelude::*;

use schemars::{JsonSchema, SchemaGenerator};

use super::{gate::Bound, quantity::*};

fn remedy(error: &QuantityError) -> &str {
    error.remedy.as_deref().unwrap_or_default()
}

#[test]
fn texts_mean_what_they_say() {
    assert_eq!("15m".parse(), Ok(Length::seconds(900)));
    assert_eq!("0.5s".parse(), Ok(Length::millis(500)));
    assert_eq!("1_000ms".parse(), Ok(Length::seconds(1)));
    assert_eq!("2500".parse(), Ok(Count(2_500)));
    assert_eq!("1.5M".parse(), Ok(Count(1_500_000)));
    assert_eq!("6GiB".parse(), Ok(Bytes(6_442_450_944)));
    assert_eq!("99%".parse(), Ok(Share(0.99)));
    assert_eq!("200k/s".parse(), Ok(Rate(200_000.0)));
}

#[test]
fn errors_name_the_units_and_a_remedy() {
    let error = "15 mins".parse::<Length>().unwrap_err();
    assert_eq!((error.reason.as_str(), remedy(&error)), ("unknown unit `mins`; use ms, s, m, h, d", "15m"));
    let error = "5 s".parse::<Length>().unwrap_err();
    assert_eq!(error.to_string(), r#"no space stands between a number and its unit; write "5s""#);
    let error = "60".parse::<Length>().unwrap_err();
    assert_eq!((error.reason.as_str(), remedy(&error)), ("a length of time needs a unit: ms, s, m, h, d", "60s"));
    assert_eq!(remedy(&"512mb".parse::<Bytes>().unwrap_err()), "512MB");
    assert_eq!(remedy(&"5sec".parse::<Length>().unwrap_err()), "5s");
    let unlike = ["5us", "5 parsecs", "5ns"].map(|text| text.parse::<Length>().unwrap_err().remedy);
    assert_eq!(unlike, [None, None, None]);
    for not_whole in ["1.5", "2.5005k"] {
        assert_eq!(not_whole.parse::<Count>().unwrap_err().reason, "a count must be a whole number");
    }
    for nonsense in ["", "s", "-5s", "1.2.3s", "1.s", ".5s", "_1s", " 5s", "5 s", "NaNs", "infs"] {
        assert!(nonsense.parse::<Length>().is_err(), "{nonsense}");
    }
    assert_eq!("9999999d".parse::<Length>().unwrap_err().reason, "longer than ten years");
}

#[test]
fn the_examples_are_accepted() {
    for example in Length::EXAMPLES {
        example.parse::<Length>().unwrap();
    }
    for example in Count::EXAMPLES {
        example.parse::<Count>().unwrap();
    }
    for example in Bytes::EXAMPLES {
        example.parse::<Bytes>().unwrap();
    }
    for example in Share::EXAMPLES {
        example.parse::<Share>().unwrap();
    }
    for example in Rate::EXAMPLES {
        example.parse::<Rate>().unwrap();
    }
}

proptest! {
    #[test]
    fn a_length_is_what_its_spelling_says(millis in 0_u64..300_000_000_000) {
        let length = Length::millis(millis);
        prop_assert_eq!(length.to_string().parse(), Ok(length));
    }

    #[test]
    fn a_count_is_what_its_spelling_says(count in 0_u64..9_007_199_254_740_992) {
        prop_assert_eq!(Count(count).to_string().parse(), Ok(Count(count)));
    }

    #[test]
    fn bytes_are_what_their_spelling_says(bytes in 0_u64..9_007_199_254_740_992) {
        prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
    }

    #[test]
    fn a_share_is_what_its_spelling_says(millionths in 0_u32..5_000_000) {
        let share = Share(f64::from(millionths) / 1e6);
        let read: Share = share.to_string().parse().unwrap();
        prop_assert!((read.0 - share.0).abs() < 1e-12, "{share} {read}");
    }

    #[test]
    fn a_remedy_is_accepted(number in 1_u32..1_000, unit in "[a-zA-Z]{0,6}") {
        let text = format!("{number}{unit}");
        if let Some(remedy) = text.parse::<Length>().err().and_then(|error| error.remedy) {
            prop_assert!(remedy.parse::<Length>().is_ok(), "{remedy}");
        }
        if let Some(remedy) = text.parse::<Bytes>().err().and_then(|error| error.remedy) {
            prop_assert!(remedy.parse::<Bytes>().is_ok(), "{remedy}");
        }
    }

    #[test]
    fn what_a_parser_reads_the_pattern_of_its_schema_allows(text in "-?[0-9]{0,3}[._ ]{0,2}[0-9]{0,3} ?(ms|s|m|k|k/s|/s|%|B|GiB|e3)?") {
        fn allowed<Q: JsonSchema>(text: &str) -> bool {
            jsonschema::is_valid(&Q::json_schema(&mut SchemaGenerator::default()).to_value(), &text.into())
        }
        prop_assert!(text.parse::<Length>().is_err() || allowed::<Length>(&text));
        prop_assert!(text.parse::<Count>().is_err() || allowed::<Count>(&text));
        prop_assert!(text.parse::<Bytes>().is_err() || allowed::<Bytes>(&text));
        prop_assert!(text.parse::<Share>().is_err() || allowed::<Share>(&text));
        prop_assert!(text.parse::<Rate>().is_err() || allowed::<Rate>(&text));
        prop_assert!(Bound::parse(&text).is_err() || allowed::<Bound>(&text));
    }

    #[test]
    fn no_text_makes_a_parser_fall(text in "\\PC{0,12}") {
        let _ = text.parse::<Length>();
        let _ = text.parse::<Count>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Share>();
        let _ = text.parse::<Rate>();
        let _ = Bound::parse(&text);
    }
}
