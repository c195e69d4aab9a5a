package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record/session"
)

// Dimension is one thing that calls can be grouped by.
type Dimension struct {
	Name string
	of   func(c *Call) string
}

var dimensions = []Dimension{
	{"server", func(c *Call) string { return c.Server }},
	{"version", func(c *Call) string { return c.ServerVersion }},
	{"tool", func(c *Call) string { return c.Tool }},
	{"host", func(c *Call) string { return c.Host }},
	{"host-version", func(c *Call) string { return c.HostVersion }},
	{"era", func(c *Call) string { return c.Era }},
	{"transport", func(c *Call) string { return c.Transport }},
	{"case", func(c *Call) string { return c.Case }},
	{"day", func(c *Call) string { return dayOf(c.Start) }},
	{"month", func(c *Call) string { return cutDay(dayOf(c.Start), len("2006-01")) }},
	{"hour", func(c *Call) string { return hourOf(c.Start) }},
}

// maxDimensions bounds the dimensions of one grouping.
const maxDimensions = 4

func cutDay(s string, n int) string {
	if s == "unknown" {
		return s
	}
	return s[:min(n, len(s))]
}

// DimensionNames are the words of --by, without label:KEY.
func DimensionNames() []string {
	var out []string
	for _, d := range dimensions {
		out = append(out, d.Name)
	}
	return out
}

// ParseBy reads the value of --by: words with commas between them.
func ParseBy(text string) ([]Dimension, error) {
	var by []Dimension
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		d := Dimension{Name: name}
		if key, is := strings.CutPrefix(name, "label:"); is && key != "" {
			d.of = func(c *Call) string { return c.Labels[key] }
		} else if i := slices.IndexFunc(dimensions, func(d Dimension) bool { return d.Name == name }); i >= 0 {
			d = dimensions[i]
		} else {
			return nil, fmt.Errorf("%q is none of %s, label:KEY", name, strings.Join(DimensionNames(), ", "))
		}
		if slices.ContainsFunc(by, func(o Dimension) bool { return o.Name == name }) {
			return nil, fmt.Errorf("%q stands there twice", name)
		}
		if by = append(by, d); len(by) > maxDimensions {
			return nil, fmt.Errorf("more than %d words", maxDimensions)
		}
	}
	return by, nil
}

// channels are those of the wire, in their order.
var channels = []struct {
	name string
	of   func(c *session.Capture) session.CaptureState
}{
	{"toolCalls", func(c *session.Capture) session.CaptureState { return c.ToolCalls }},
	{"toolErrors", func(c *session.Capture) session.CaptureState { return c.ToolErrors }},
	{"toolResults", func(c *session.Capture) session.CaptureState { return c.ToolResults }},
	{"toolCallTimings", func(c *session.Capture) session.CaptureState { return c.ToolCallTimings }},
	{"toolInventory", func(c *session.Capture) session.CaptureState { return c.ToolInventory }},
	{"toolDeclarations", func(c *session.Capture) session.CaptureState { return c.ToolDeclarations }},
}
