package story

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
)

// maxURI bounds a media's address, in bytes.
const maxURI = 2048

// MediaOf describes a blob: base64 data or an address, which may be a data URL.
// What signed addresses carry is dropped (hosts.md 6).
func MediaOf(typ, data, uri string) host.Media {
	if rest, ok := strings.CutPrefix(uri, "data:"); ok {
		head, body, _ := strings.Cut(rest, ",")
		mime, _, _ := strings.Cut(head, ";")
		if typ == "" || strings.HasSuffix(typ, "image") {
			typ = mime
		}
		data, uri = body, ""
	}
	if data != "" {
		if raw, err := base64.StdEncoding.DecodeString(data); err == nil && len(raw) > 0 {
			return host.NewMedia(lenient.Bound(typ), raw)
		}
	}
	m := host.Media{Type: lenient.Bound(typ)}
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	if len(uri) <= maxURI {
		m.URI = strings.ToValidUTF8(uri, "�")
	}
	return m
}

// Block is a content block of MCP, of Anthropic's or of OpenAI's APIs, as far as
// they are alike: what a result or a prompt is made of.
type Block struct {
	Type   lenient.Word   `json:"type"`
	Text   lenient.Long   `json:"text"`
	Data   lenient.Long   `json:"data"`
	MIME   lenient.Word   `json:"mimeType"`
	Media  lenient.Word   `json:"mediaType"`
	URI    lenient.Long   `json:"uri"`
	Image  jsontext.Value `json:"image_url"` // a string, or {url}
	Source jsontext.Value `json:"source"`
}

// Blocks calls do for each block of a content; a string is one text block.
func Blocks(content jsontext.Value, do func(b *Block)) {
	switch content.Kind() {
	case '"':
		do(&Block{Type: "text", Text: lenient.Long(lenient.String(content))})
	case '[':
		lenient.Each(content, func(_ int, v jsontext.Value) {
			var b Block
			switch {
			case v.Kind() == '"':
				do(&Block{Type: "text", Text: lenient.Long(lenient.String(v))})
			case lenient.Into(v, &b):
				do(&b)
			}
		})
	case '{':
		var b Block
		if lenient.Into(content, &b) {
			do(&b)
		}
	}
}

// IsText says that a block is text.
func (b *Block) IsText() bool {
	switch b.Type {
	case "text", "Text", "input_text", "output_text", "refusal":
		return true
	case "":
		return b.Text != ""
	}
	return false
}

// AsMedia describes a block that holds or names a blob; false when it is none.
func (b *Block) AsMedia() (host.Media, bool) {
	var src struct {
		Media lenient.Word `json:"media_type"`
		Data  lenient.Long `json:"data"`
		URL   lenient.Long `json:"url"`
	}
	typ := string(b.MIME + b.Media)
	switch {
	case lenient.Into(b.Source, &src):
		typ = string(src.Media)
		if typ == "" {
			typ = string(b.Type)
		}
		return MediaOf(typ, string(src.Data), string(src.URL)), true
	case !lenient.Null(b.Image):
		uri := lenient.String(b.Image)
		if uri == "" {
			uri = lenient.String(lenient.Member(b.Image, "url"))
		}
		return MediaOf("image", "", uri), true
	case b.Data != "":
		return MediaOf(typ, string(b.Data), ""), true
	case strings.Contains(string(b.Type), "image") || strings.Contains(string(b.Type), "file") || b.Type == "audio" || b.Type == "document":
		if typ == "" {
			typ = string(b.Type)
		}
		return MediaOf(typ, "", string(b.URI)), true
	}
	return host.Media{}, false
}

// ContentOf reads a prompt.
func ContentOf(content jsontext.Value) Content {
	var c Content
	var text strings.Builder // at most a record
	Blocks(content, func(b *Block) {
		if b.IsText() {
			text.WriteString(string(b.Text))
		} else if m, ok := b.AsMedia(); ok {
			c.Media = append(c.Media, m)
		}
	})
	c.Text = text.String()
	return c
}

// ResultOf reads what the model saw of a result: a string or content blocks.
// Blocks of other kinds count by their JSON's size.
func ResultOf(content jsontext.Value, keep *host.Keeper) *host.CallResult {
	r := &host.CallResult{}
	var text strings.Builder // at most a record
	Blocks(content, func(b *Block) {
		if b.IsText() {
			r.HasText = true
			text.WriteString(string(b.Text))
		} else if m, ok := b.AsMedia(); ok {
			r.Media = append(r.Media, m)
			r.Bytes += m.Bytes
		}
	})
	r.Bytes += int64(text.Len())
	r.Text = keep.Result(text.String(), host.MaxValue)
	return r
}

// TextResult is a result that is a text.
func TextResult(s string, keep *host.Keeper) *host.CallResult {
	return &host.CallResult{Text: keep.Result(s, host.MaxValue), HasText: true, Bytes: int64(len(s))}
}

// Args gives a call its arguments, which a model wrote as a JSON string, or which
// stand as an object. No text at all is {} (case 92). Of arguments that cannot be
// read nothing can be said: the call and a note say so.
func (b *Builder) Args(k *host.Call, v jsontext.Value, e *Event) {
	switch v.Kind() {
	case '{':
		k.Args = b.Keep.Value(v)
	case '"':
		s := strings.TrimSpace(lenient.String(v))
		if s == "" {
			s = "{}"
		}
		// Arguments are an object; another value cannot be sent on as such.
		if a := jsontext.Value(s); a.IsValid(lenient.Options) && a.Kind() == '{' {
			k.Args = b.Keep.Value(a)
		}
	case 0, 'n':
		return
	}
	if k.Args != nil {
		k.ArgsSource = host.ArgsFromModel
		return
	}
	k.ArgsError = "no JSON object: " + Short(OneLine(string(v)))
	b.Note("unreadable-arguments", "the arguments of call "+Short(k.HostCallID)+" are no JSON object; nothing can be said of them", e.Src)
}

// minus subtracts what is known; a result below 0 is unknown.
func minus(a host.Count, subtract ...host.Count) host.Count {
	if !a.Known {
		return a
	}
	for _, s := range subtract {
		if s.Known {
			a.N -= s.N
		}
	}
	if a.N < 0 {
		return host.Count{}
	}
	return a
}

// Counts are token counts as a provider gives them.
type Counts struct{ Input, Cached, Written, Output, Reasoning, Total host.Count }

// OpenAI gives the figure of OpenAI's counts: the input includes what was cached
// and written to the cache, the output includes reasoning (hosts.md 4, rule 3).
func (c Counts) OpenAI() *host.Usage {
	u := c.fill(&host.Usage{ReasoningInOutput: true})
	if u != nil && !u.Total.Known {
		u.Total = c.Input.Plus(c.Output)
	}
	return u
}

// Gemini gives the figure of Gemini's counts: the input includes what was cached,
// and thoughts are apart from the output (hosts.md 4, rule 3).
func (c Counts) Gemini() *host.Usage {
	u := c.fill(&host.Usage{})
	if u != nil && !u.Total.Known {
		u.Total = c.Input.Plus(c.Output)
		if c.Reasoning.Known {
			u.Total = u.Total.Plus(c.Reasoning)
		}
	}
	return u
}

func (c Counts) fill(u *host.Usage) *host.Usage {
	if !c.Input.Known && !c.Output.Known {
		return nil
	}
	u.InputUncached, u.CacheRead, u.CacheWrite = minus(c.Input, c.Cached, c.Written), c.Cached, c.Written
	u.Output, u.Reasoning, u.Total = c.Output, c.Reasoning, c.Total
	return u
}

// Anthropic gives the figure of Anthropic's counts: the input excludes the cache,
// the output includes thinking (hosts.md 4, rule 3).
func (c Counts) Anthropic() *host.Usage {
	if !c.Input.Known && !c.Output.Known {
		return nil
	}
	u := &host.Usage{InputUncached: c.Input, CacheRead: c.Cached, CacheWrite: c.Written, Output: c.Output, Reasoning: c.Reasoning, ReasoningInOutput: true}
	n := c.Input
	for _, x := range []host.Count{c.Cached, c.Written} {
		if x.Known {
			n = n.Plus(x)
		}
	}
	u.Total = n.Plus(c.Output)
	return u
}
