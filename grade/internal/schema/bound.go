package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// maxListed is how many values of an enum a message lists.
const maxListed = 20

// exact is the message of a violation whose keyword compares with a value of the
// schema. The library rounds bounds to float64 and quotes numbers like texts;
// here the schema's own spelling stands. ok is false where the keyword is no such
// one, or stands in no part of the schema (but in a dialect's own).
func exact(e *jsonschema.ValidationError, g *guard) (text string, ok bool) {
	at := e.AbsoluteKeywordLocation
	keyword := at[strings.LastIndexByte(at, '/')+1:]
	switch keyword {
	case "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "const", "enum":
	default:
		return "", false
	}
	doc, fragment, _ := strings.Cut(at, "#")
	if g == nil || g.resource[doc] == nil || e.Message == notAllowed { // a false subschema may be called const
		return "", false
	}
	v := lookUp(g.resource[doc], fragment)
	if v == nil {
		return "", false
	}
	switch keyword {
	case "const":
		return "value must be " + shown(v), scalar(v)
	case "enum":
		var items []string
		for i := range v.Arr {
			if !scalar(&v.Arr[i]) {
				return "", false // the library says only that it failed, and so do we
			}
			if i < maxListed {
				items = append(items, shown(&v.Arr[i]))
			}
		}
		if n := len(v.Arr) - maxListed; n > 0 {
			items = append(items, fmt.Sprintf("… (%d more)", n))
		}
		if len(v.Arr) == 1 {
			return "value must be " + items[0], true
		}
		return "value must be one of " + strings.Join(items, ", "), len(items) > 0
	case "multipleOf":
		found, _, cut := strings.Cut(e.Message, " not multipleOf ")
		return found + " not multipleOf " + shown(v), cut && v.Kind == value.Number
	}
	_, found, cut := strings.Cut(e.Message, " but found ")
	sign := map[string]string{"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}[keyword]
	return fmt.Sprintf("must be %s %s but found %s", sign, shown(v), found), cut && v.Kind == value.Number
}

func scalar(v *value.Value) bool { return v.Kind != value.Array && v.Kind != value.Object }

// shown is a scalar as the schema spells it.
func shown(v *value.Value) string {
	if v.Kind == value.Number {
		return v.Str
	}
	out, err := value.Canonical(nil, v, value.Exact)
	if err != nil {
		return "(not shown)"
	}
	return string(out)
}

// lookUp follows a JSON Pointer in a URI fragment; nil when it leads nowhere.
func lookUp(v *value.Value, fragment string) *value.Value {
	for _, token := range strings.Split(fragment, "/")[1:] {
		token, err := url.PathUnescape(token)
		if err != nil {
			return nil
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v.Kind {
		case value.Object:
			next, ok := v.Get(token)
			if !ok {
				return nil
			}
			v = next
		case value.Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v.Arr) {
				return nil
			}
			v = &v.Arr[i]
		default:
			return nil
		}
	}
	return v
}
