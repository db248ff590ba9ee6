//! Numbers as people read them: thousands apart, sizes in binary units with three digits, shares in percent.

use heaplens_format::{Bytes, Nanos};

/// `1234567` as `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size: exact below 1 KiB, else with about three digits.
pub fn size(bytes: Bytes) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes.get() < 1024 {
        return format!("{} B", bytes.get());
    }
    let mut value = bytes.get() as f64 / 1024.0;
    let mut unit = 0;
    // 1,023.5 would be rounded to 1,024.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// A part of a total in percent; `–` where the total is zero.
pub(crate) fn share(part: Bytes, whole: Bytes) -> String {
    if whole == Bytes::ZERO {
        return "–".to_owned();
    }
    percent(part.get() as f64 / whole.get() as f64)
}

/// 0 to 1 in percent, whole numbers except where they would round something to nothing.
pub(crate) fn percent(part: f64) -> String {
    let value = part * 100.0;
    if value == 0.0 {
        "0 %".to_owned()
    } else if value < 0.1 {
        "<0.1 %".to_owned()
    } else if value < 9.95 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// A duration: milliseconds below a second.
pub(crate) fn seconds(time: Nanos) -> String {
    let value = time.get() as f64 / 1e9;
    match value {
        ..1.0 => format!("{} ms", three_digits(value * 1e3)),
        ..600.0 => format!("{} s", three_digits(value)),
        _ => format!("{} min", count((value / 60.0).round() as u64)),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => count(value.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let texts: Vec<String> = [0, 999, 1_000, 1_234_567].map(count).to_vec();
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn sizes_have_three_digits_and_the_unit_that_fits() {
        let sizes = [0, 1023, 1024, 1536, 10 << 20, (1 << 20) - 1, 1000 << 20, 3 << 40, u64::MAX];
        let texts: Vec<String> = sizes.map(|bytes| size(Bytes::new(bytes))).to_vec();
        let expected = [
            "0 B",
            "1023 B",
            "1.00 KiB",
            "1.50 KiB",
            "10.0 MiB",
            "1.00 MiB",
            "1,000 MiB",
            "3.00 TiB",
            "16,384 PiB",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_small_share_is_not_called_nothing() {
        assert_eq!(share(Bytes::new(1), Bytes::new(1_000_000)), "<0.1 %");
        assert_eq!(share(Bytes::new(0), Bytes::new(7)), "0 %");
        assert_eq!(share(Bytes::new(7), Bytes::new(7)), "100 %");
        assert_eq!(share(Bytes::new(0), Bytes::new(0)), "–");
    }

    #[test]
    fn durations_pick_their_unit() {
        assert_eq!(seconds(Nanos::new(1_500_000)), "1.50 ms");
        assert_eq!(seconds(Nanos::new(12_340_000_000)), "12.3 s");
        assert_eq!(seconds(Nanos::new(3_600_000_000_000)), "60 min");
    }
}
