//! Numbers as traces write them. Every function returns `None` for text that is not wholly such a number, and never rounds.

/// The powers of ten from 1 to 10^9.
const POWERS: [i64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Parses an integer without a sign, of at most 18 digits.
pub fn unsigned(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')))
}

/// Parses an integer that may have a minus.
pub fn signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(rest) => unsigned(rest).map(|value| -value),
        None => unsigned(text),
    }
}

/// Parses a decimal number without a sign, and returns how many times it holds `10^-places`. Digits after these places are cut
/// off.
pub fn decimal(text: &[u8], places: usize) -> Option<i64> {
    let point = memchr::memchr(b'.', text);
    let (whole, fraction) = point.map_or((text, &b""[..]), |at| (&text[..at], &text[at + 1..]));
    if point.is_some() && fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = &fraction[..fraction.len().min(places)];
    let digits = kept.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    let power = |places: usize| POWERS.get(places).copied();
    unsigned(whole)?.checked_mul(power(places)?)?.checked_add(digits * power(places - kept.len())?)
}

/// Parses a number of nanoseconds from seconds with a decimal point.
pub fn seconds_ns(text: &[u8]) -> Option<i64> {
    decimal(text, 9)
}

/// Parses a time of day, such as `09:57:11.309563`, as ns since midnight.
pub fn time_of_day_ns(text: &[u8]) -> Option<i64> {
    let (hours, rest) = split_at_byte(text, b':')?;
    let (minutes, seconds) = split_at_byte(rest, b':')?;
    let (hours, minutes, ns) = (unsigned(hours)?, unsigned(minutes)?, seconds_ns(seconds)?);
    (hours < 24 && minutes < 60 && ns < 61_000_000_000).then(|| (hours * 60 + minutes) * 60_000_000_000 + ns)
}

/// Parses a date, such as `2026-06-25`, as the number of days since the beginning of 1970.
pub fn days(text: &[u8]) -> Option<i64> {
    let (year, rest) = split_at_byte(text, b'-')?;
    let (month, day) = split_at_byte(rest, b'-')?;
    let (year, month, day) = (unsigned(year)?, unsigned(month)?, unsigned(day)?);
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // The year begins in March, so that the leap day is its last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Returns the place of the first occurrence of a short word. To prepare a search for it would take longer than the search.
pub fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memchr_iter(word[0], text).find(|at| text[*at..].starts_with(word))
}

/// Returns the place of the last occurrence of a short word.
pub fn rfind(text: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(word[0], text).find(|at| text[*at..].starts_with(word))
}

/// Splits a text at the first occurrence of a byte, which is in neither part.
pub fn split_at_byte(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    memchr::memchr(byte, text).map(|at| (&text[..at], &text[at + 1..]))
}

/// Splits a line into exactly `N` fields. Returns `None` if there are fewer or more.
pub fn fields<const N: usize>(line: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let mut parts = [&b""[..]; N];
    let mut rest = line;
    for part in &mut parts[..N - 1] {
        let at = memchr::memchr(separator, rest)?;
        (*part, rest) = (&rest[..at], &rest[at + 1..]);
    }
    parts[N - 1] = rest;
    memchr::memchr(separator, rest).is_none().then_some(parts)
}

/// Yields the words of a line, which blanks separate.
pub fn words(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_wholly_or_not_at_all() {
        assert_eq!(unsigned(b"128166372003061629"), Some(128_166_372_003_061_629));
        for wrong in [&b""[..], b"-1", b"1 ", b"1.0", b"1234567890123456789"] {
            assert_eq!(unsigned(wrong), None);
        }
        assert_eq!((signed(b"-42"), signed(b"42"), signed(b"-")), (Some(-42), Some(42), None));
        assert_eq!((decimal(b"0.74", 6), decimal(b"12", 3), decimal(b"0.1239", 3)), (Some(740_000), Some(12_000), Some(123)));
        assert_eq!((decimal(b"1.", 3), decimal(b".5", 3), decimal(b"1.2.3", 3)), (None, None, None));
        assert_eq!(decimal(b"9999999999", 9), None);
    }

    #[test]
    fn dates_and_times_of_day() {
        assert_eq!((days(b"1970-01-01"), days(b"2000-02-29"), days(b"2026-06-25")), (Some(0), Some(11_016), Some(20_629)));
        assert_eq!((days(b"2026-13-01"), days(b"2026-06")), (None, None));
        assert_eq!(time_of_day_ns(b"23:59:59.5"), Some(86_399_500_000_000));
        assert_eq!((time_of_day_ns(b"24:00:00"), time_of_day_ns(b"1:2")), (None, None));
        assert_eq!(time_of_day_ns(b"7677726:2:55"), None);
        // A leap second is second 60, and there is no second 61.
        assert_eq!((time_of_day_ns(b"23:59:60.9"), time_of_day_ns(b"23:59:61")), (Some(86_400_900_000_000), None));
    }

    #[test]
    fn a_line_has_as_many_fields_as_asked_for() {
        assert_eq!(fields::<3>(b"a,,c", b','), Some([&b"a"[..], b"", b"c"]));
        assert_eq!((fields::<3>(b"a,b", b','), fields::<3>(b"a,b,c,d", b',')), (None, None));
        assert_eq!(words(b"  a \t b").collect::<Vec<_>>(), [b"a", b"b"]);
    }
}
