package schema

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
)

func validate(t testing.TB, schema, instance string) ([]Violation, error) {
	t.Helper()
	s, err := Compile([]byte(schema))
	if err != nil {
		return nil, err
	}
	v, err := value.Parse([]byte(instance), value.Options{MaxDepth: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(&v, len(instance))
}

func TestClasses(t *testing.T) {
	for name, c := range map[string]struct {
		schema, instance string
		want             string // class@path, joined by blanks
	}{
		"valid":                      {`{"type":"object"}`, `{}`, ""},
		"true schema":                {`true`, `{}`, ""},
		"false schema":               {`false`, `{}`, "other@"},
		"missing":                    {`{"required":["a","b"]}`, `{}`, "missing-required@"},
		"type at depth":              {`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "wrong-type@/a/1"},
		"enum and const":             {`{"properties":{"a":{"enum":[1]},"b":{"const":2}}}`, `{"a":2,"b":1}`, "bad-enum@/a bad-enum@/b"},
		"closed object":              {`{"additionalProperties":false}`, `{"z":1,"a":2}`, "hallucinated-param@"},
		"unevaluated":                {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":1}`, "hallucinated-param@/b"},
		"pattern is other":           {`{"properties":{"a":{"pattern":"^x"}}}`, `{"a":"y"}`, "other@/a"},
		"property named required":    {`{"properties":{"required":false}}`, `{"required":1}`, "other@/required"},
		"big integers are exact":     {`{"const":9007199254740993}`, `9007199254740992`, "bad-enum@"},
		"one is 1.0":                 {`{"const":1}`, `1.0`, ""},
		"1.0 is an integer":          {`{"type":"integer"}`, `1.0`, ""},
		"keys are case-sensitive":    {`{"required":["Id"]}`, `{"id":1}`, "missing-required@"},
		"format is not asserted":     {`{"format":"email"}`, `"x"`, ""},
		"nor in draft-07":            {`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"x"`, ""},
		"nor by vocabulary":          {`{"$schema":"https://json-schema.org/draft/2020-12/schema","format":"ipv4"}`, `"x"`, ""},
		"draft-07 over https":        {`{"$schema":"https://json-schema.org/draft-07/schema","items":[{"type":"string"}]}`, `[1]`, "wrong-type@/0"},
		"content is not asserted":    {`{"$schema":"http://json-schema.org/draft-07/schema#","contentEncoding":"base64"}`, `"%"`, ""},
		"local reference":            {`{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, `{"a":1}`, "wrong-type@/a"},
		"anchor":                     {`{"$defs":{"s":{"$anchor":"x","type":"string"}},"properties":{"a":{"$ref":"#x"}}}`, `{"a":1}`, "wrong-type@/a"},
		"embedded resource":          {`{"$id":"https://e.example/a","$defs":{"s":{"$id":"b","type":"string"}},"properties":{"a":{"$ref":"b"}}}`, `{"a":1}`, "wrong-type@/a"},
		"unusual place":              {`{"x-defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/x-defs/s"}}}`, `{"a":1}`, "wrong-type@/a"},
		"escaped pointer":            {`{"$defs":{"a/b~c":{"type":"string"}},"$ref":"#/$defs/a~1b~0c"}`, `1`, "wrong-type@"},
		"recursive":                  {`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"a":{"b":1}}}`, "hallucinated-param@/a/a"},
		"a draft's own schema":       {`{"$ref":"http://json-schema.org/draft-07/schema#"}`, `{"type":"objekt"}`, "bad-enum@/type wrong-type@/type"},
		"property named $ref":        {`{"properties":{"$ref":{"type":"string"}}}`, `{"$ref":1}`, "wrong-type@/$ref"},
		"a reference inside an enum": {`{"enum":[{"$ref":"file:///etc/passwd"}]}`, `1`, "bad-enum@"},
		"half a surrogate pair":      {`{"const":"�"}`, `"\ud83d"`, "bad-enum@"},
		"empty object schema":        {`{}`, `1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			vs, err := validate(t, c.schema, c.instance)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range vs {
				got = append(got, string(v.Class)+"@"+v.Path)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Messages name the schema's numbers as it spells them: float64 would round them.
func TestBoundsAreNotRounded(t *testing.T) {
	const big = "9007199254740993" // 2^53 + 1
	for name, c := range map[string]struct{ schema, instance, want string }{
		"minimum":                {`{"minimum":` + big + `}`, `9007199254740992`, "must be >= 9007199254740993 but found 9007199254740992"},
		"maximum":                {`{"maximum":` + big + `}`, `9007199254740994`, "must be <= 9007199254740993 but found 9007199254740994"},
		"exclusive minimum":      {`{"exclusiveMinimum":` + big + `}`, big, "must be > 9007199254740993 but found 9007199254740993"},
		"exclusive maximum":      {`{"exclusiveMaximum":` + big + `}`, big, "must be < 9007199254740993 but found 9007199254740993"},
		"multiple":               {`{"multipleOf":` + big + `}`, `9007199254740992`, "9007199254740992 not multipleOf 9007199254740993"},
		"as it is spelt":         {`{"minimum":1.50e1}`, `2.0`, "must be >= 1.50e1 but found 2.0"},
		"decimals":               {`{"maximum":0.10000000000000000001}`, `1`, "must be <= 0.10000000000000000001 but found 1"},
		"through a reference":    {`{"$defs":{"a/b~ %":{"minimum":` + big + `}},"properties":{"x":{"$ref":"#/$defs/a~1b~0%20%25"}}}`, `{"x":1}`, "must be >= 9007199254740993 but found 1"},
		"inside a list":          {`{"allOf":[{},{"minimum":` + big + `}]}`, `1`, "must be >= 9007199254740993 but found 1"},
		"embedded resource":      {`{"$id":"https://e.example/a","$defs":{"s":{"$id":"b","minimum":` + big + `}},"properties":{"x":{"$ref":"b"}}}`, `{"x":1}`, "must be >= 9007199254740993 but found 1"},
		"draft-07":               {`{"$schema":"http://json-schema.org/draft-07/schema#","minimum":` + big + `}`, `1`, "must be >= 9007199254740993 but found 1"},
		"const":                  {`{"const":` + big + `}`, `1`, "value must be 9007199254740993"},
		"const, a text":          {`{"const":"5"}`, `5`, `value must be "5"`},
		"const null":             {`{"const":null}`, `1`, "value must be null"},
		"const, an object":       {`{"const":{"a":1}}`, `1`, "const failed"},
		"enum":                   {`{"enum":[` + big + `,"1",true]}`, `1`, `value must be one of 9007199254740993, "1", true`},
		"enum of one":            {`{"enum":[` + big + `]}`, `1`, "value must be 9007199254740993"},
		"enum with a per cent":   {`{"enum":["100%d","b"]}`, `1`, `value must be one of "100%d", "b"`},
		"enum with an object":    {`{"enum":[{},1]}`, `2`, "enum failed"},
		"a long enum":            {`{"enum":[` + strings.Repeat("1,", 24) + `1]}`, `2`, "value must be one of " + strings.Repeat("1, ", 20) + "… (5 more)"},
		"property named minimum": {`{"properties":{"minimum":{"type":"string"}}}`, `{"minimum":1}`, "expected string, but got number"},
		"property named const":   {`{"properties":{"const":false}}`, `{"const":1}`, "not allowed"},
		"bound named by a draft": {`{"$ref":"http://json-schema.org/draft-07/schema#"}`, `{"minLength":-1}`, "must be >= 0 but found -1"},
	} {
		t.Run(name, func(t *testing.T) {
			vs, err := validate(t, c.schema, c.instance)
			if err != nil || len(vs) != 1 || vs[0].Message != c.want {
				t.Errorf("%+v, %v, want %q", vs, err, c.want)
			}
		})
	}
}

// doubling makes a schema whose references multiply by two at each of n levels.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{"l0":{"type":"object"}`)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, `,"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, i, i-1, i-1)
	}
	fmt.Fprintf(&b, `},"$ref":"#/$defs/l%d"}`, n)
	return b.String()
}

// Every row is an evaluator's error: not a violation, not a pass, no crash.
func TestHostile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan struct{}, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
			asked <- struct{}{}
		}
	}()
	remote := "http://" + l.Addr().String() + "/x.json"
	deepInstance := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	for name, c := range map[string]struct{ schema, instance, want string }{
		"file reference":          {`{"$ref":"file://` + secret + `"}`, `1`, "never read"},
		"file through $id":        {`{"$id":"file://` + secret + `","$ref":"other.json"}`, `1`, "never read"},
		"file as $schema":         {`{"$schema":"file://` + secret + `"}`, `1`, "not supported"},
		"relative path":           {`{"$ref":"../../secret.json"}`, `1`, "never read"},
		"remote":                  {`{"properties":{"a":{"$ref":"` + remote + `"}}}`, `{"a":1}`, "never read"},
		"remote as $schema":       {`{"$schema":"` + remote + `"}`, `1`, "not supported"},
		"dangling":                {`{"$ref":"#/$defs/none"}`, `1`, "leads nowhere"},
		"dangling anchor":         {`{"$ref":"#none"}`, `1`, "never read"},
		"loop":                    {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `1`, "leads back to itself"},
		"loop through allOf":      {`{"allOf":[{"$ref":"#"}]}`, `1`, "leads back to itself"},
		"doubling references":     {doubling(30), `{}`, "multiply"},
		"doubling with the value": {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, deepInstance, "more than the limit"},
		"unknown dialect":         {`{"$schema":"http://json-schema.org/draft-04/schema#"}`, `1`, "not supported"},
		"$schema is no string":    {`{"$schema":7}`, `1`, "expected a string"},
		"look-ahead":              {`{"pattern":"(?=x)"}`, `"x"`, "regex"},
		"look-ahead in draft-07":  {`{"$schema":"http://json-schema.org/draft-07/schema#","patternProperties":{"(?!x)":true}}`, `{}`, ""},
		"schema exponent":         {`{"maximum":1e3000000}`, `1`, "exponent"},
		"value exponent":          {`{"maximum":1}`, `1e3000000`, "exponent"},
		"negative exponent":       {`{"multipleOf":1e-3000000}`, `1`, "exponent"},
		"many digits":             {`{"maximum":1}`, "0." + strings.Repeat("7", 5000), "digits"},
		"deep schema":             {strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200), `1`, "nested deeper"},
		"deep value":              {`{}`, strings.Repeat("[", 500) + strings.Repeat("]", 500), "nested deeper"},
		"large schema":            {`{"title":"` + strings.Repeat("x", 300<<10) + `"}`, `1`, "bytes"},
		"a list":                  {`[]`, `1`, "expected an object"},
		"not JSON":                {`{`, `1`, "no JSON"},
		"breaks its dialect":      {`{"type":"objekt"}`, `1`, "breaks its dialect"},
		"properties is a list":    {`{"properties":[]}`, `1`, ""},
		"lone surrogate":          {`{"const":"\ud83d"}`, `1`, "lone surrogate"},
	} {
		t.Run(name, func(t *testing.T) {
			vs, err := validate(t, c.schema, c.instance)
			if err == nil {
				t.Fatalf("no error, violations %v", vs)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error = %q, want one line with %q", err, c.want)
			}
		})
	}
	select {
	case <-asked:
		t.Error("the validator reached the network")
	default:
	}
}

func TestViolationsHaveOneOrder(t *testing.T) {
	schema := `{"additionalProperties":false,"properties":{"k":{"type":"string"},"m":{"type":"string"},"n":{"type":"string"},"o":{"minimum":3}}}`
	instance := `{"z":1,"y":1,"x":1,"k":1,"m":1,"n":1,"o":1}`
	want := ""
	for i := 0; i < 50; i++ {
		vs, err := validate(t, schema, instance)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(vs)
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("run %d: %s\nbefore: %s", i, got, want)
		}
	}
	if !strings.Contains(want, "'x', 'y', 'z' not allowed") {
		t.Errorf("names are not sorted: %s", want)
	}
}

func TestFormatIsNoted(t *testing.T) {
	s, err := Compile([]byte(`{"properties":{"a":{"format":"email"}}}`))
	if err != nil || !s.HasFormat() {
		t.Errorf("HasFormat = false, %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte(`{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}}`), []byte(`{"a":[1e5,"x",null]}`))
	f.Add([]byte(doubling(10)), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, instance []byte) {
		s, err := Compile(schema)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		v, err := value.Parse(instance, value.Options{MaxDepth: 100})
		if err != nil {
			return
		}
		_, _ = s.Validate(&v, len(instance))
	})
}
