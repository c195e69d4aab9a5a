package bridge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
)

// The fields that repeat arguments must be those that an independent client sends.
func TestParams(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"n":{"type":"integer","x-mcp-header":"N"},
		"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
		"plain":{"type":"string"},
		"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}}}}`
	for _, args := range []string{
		`{"region":"eu-west 1","n":12,"dry":true,"plain":"x","deep":{"er":"d"}}`,
		`{"region":"Zürich","n":-3,"dry":false}`,
		`{"n":null,"deep":{}}`,
		`{"region":" padded ","n":1e3,"deep":"no object"}`,
		`{}`,
	} {
		list := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":%s}]}}`, schema)
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":%s}}`, args)
		b := &bridge{}
		b.learn([]byte(list))
		got := http.Header{}
		setParams(got, b.params["t"], []byte(call))
		want := http.Header{}
		var tool mcp.Tool
		if err := json.Unmarshal(fmt.Appendf(nil, `{"name":"t","inputSchema":%s}`, schema), &tool); err != nil {
			t.Fatal(err)
		}
		tool.RawInputSchema = json.RawMessage(schema)
		for k, v := range mcp.GenerateParamHeaders(&tool, json.RawMessage(fmt.Sprintf(`{"name":"t","arguments":%s}`, args))) {
			want.Set(k, v)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-mcp-go +bridge):\n%s", args, d)
		}
	}
}

func TestParamsOfBadSchemas(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 500) + `{"x-mcp-header":"X"}` + strings.Repeat(`}}`, 500)
	for name, schema := range map[string]string{
		"no token": `{"properties":{"a":{"x-mcp-header":"a b"}}}`, "no text": `{"properties":{"a":{"x-mcp-header":1}}}`, "empty": `{"properties":{"a":{"x-mcp-header":""}}}`,
		"at the root": `{"x-mcp-header":"X"}`, "below items": `{"properties":{"a":{"items":{"properties":{"b":{"x-mcp-header":"X"}}}}}}`,
		"no object": `true`, "properties that are a list": `{"properties":[{"x-mcp-header":"X"}]}`, "deep": deep,
	} {
		b := &bridge{}
		b.learn(fmt.Appendf(nil, `{"result":{"tools":[{"name":"t","inputSchema":%s}]}}`, schema))
		if len(b.params) > 0 {
			t.Errorf("%s: %v", name, b.params)
		}
	}
	b := &bridge{}
	for i := range maxTools + 10 {
		b.learn(fmt.Appendf(nil, `{"result":{"tools":[{"name":"%d","inputSchema":{"properties":{"a":{"x-mcp-header":"X"}}}}]}}`, i))
	}
	if len(b.params) != maxTools {
		t.Errorf("%d tools are remembered", len(b.params))
	}
}
