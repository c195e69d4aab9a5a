package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a number as 0.DIGITS × 10^exp, without leading or trailing zeros in
// digits; zero has no digits, no sign and exp 0.
type decimal struct {
	neg    bool
	digits string
	exp    int64
}

// maxExp bounds exponents, so that sums of them never overflow; the parser refuses
// those of over maxExpDigits digits, which are all that are beyond it.
const (
	maxExp       = 1 << 40
	maxExpDigits = 12
)

func parseDecimal(s string) decimal {
	var d decimal
	d.neg = strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	mantissa, exponent, _ := cutAny(s, "eE")
	if exponent != "" {
		e, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil || e > maxExp || e < -maxExp {
			e = maxExp
			if strings.HasPrefix(exponent, "-") {
				e = -maxExp
			}
		}
		d.exp = e
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	d.exp += int64(len(whole))
	digits := whole + frac
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func cutAny(s, chars string) (before, after string, found bool) {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// SameNumber compares two JSON numbers as exact decimals: 1, 1.0 and 1e0 are
// equal, 2^53 and 2^53+1 are not.
func SameNumber(a, b string) bool {
	return a == b || parseDecimal(a) == parseDecimal(b)
}

// ExactNumber is a number's one spelling: every digit kept, laid out as
// JavaScript lays numbers out (an exponent from 1e21 and below 1e-6).
func ExactNumber(s string) string {
	d := parseDecimal(s)
	if d.digits == "" {
		return "0"
	}
	return layout(d.neg, d.digits, d.exp)
}

// JSNumber is the text that JavaScript prints for the double nearest to s; ok is
// false when that double is infinite. For hashes (grading.md 5.4).
func JSNumber(s string) (text string, ok bool) {
	f, _ := strconv.ParseFloat(s, 64) // a range error yields ±Inf or 0, as JavaScript does
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	if f == 0 {
		return "0", true
	}
	d := parseDecimal(strconv.FormatFloat(f, 'e', -1, 64))
	return layout(d.neg, d.digits, d.exp), true
}

// layout writes 0.DIGITS × 10^exp by the rules of ECMAScript's Number::toString.
func layout(neg bool, digits string, exp int64) string {
	var b strings.Builder
	if neg {
		b.WriteByte('-')
	}
	n := int64(len(digits))
	switch {
	case n <= exp && exp <= 21:
		b.WriteString(digits)
		b.WriteString(strings.Repeat("0", int(exp-n)))
	case 0 < exp && exp <= 21:
		b.WriteString(digits[:exp])
		b.WriteByte('.')
		b.WriteString(digits[exp:])
	case -6 < exp && exp <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", int(-exp)))
		b.WriteString(digits)
	default:
		b.WriteString(digits[:1])
		if n > 1 {
			b.WriteByte('.')
			b.WriteString(digits[1:])
		}
		b.WriteByte('e')
		if exp > 0 {
			b.WriteByte('+')
		}
		b.WriteString(strconv.FormatInt(exp-1, 10))
	}
	return b.String()
}

// Exponent returns the decimal exponent of s in scientific notation and how many
// digits it needs: what arbitrary-precision arithmetic on it would cost.
func Exponent(s string) (exp int64, digits int) {
	d := parseDecimal(s)
	if d.digits == "" {
		return 0, 1
	}
	return d.exp - 1, len(d.digits)
}

// Integer tells whether s is a whole number, and returns it when it fits.
func Integer(s string) (n int64, fits, whole bool) {
	d := parseDecimal(s)
	if d.digits == "" {
		return 0, true, true
	}
	if d.exp < int64(len(d.digits)) {
		return 0, false, false
	}
	if d.exp > 19 {
		return 0, false, true
	}
	text := d.digits + strings.Repeat("0", int(d.exp)-len(d.digits))
	if d.neg {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil, true
}

// Within01 tells whether a JSON number is from 0 to 1.
func Within01(s string) bool {
	exp, digits := Exponent(s)
	if exp < -1000 || exp > 1000 || digits > 1000 {
		return false
	}
	r, ok := new(big.Rat).SetString(s)
	return ok && r.Sign() >= 0 && r.Cmp(big.NewRat(1, 1)) <= 0
}
