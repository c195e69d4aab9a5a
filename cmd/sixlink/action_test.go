package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/sixlink/sixlink/fixtures"
)

// actionFile is action.yml, as far as it is looked at.
type actionFile struct {
	Inputs map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

// step is one of an action, or of a job in docs/ci.md.
type step struct {
	Name, ID, Shell, Run, Uses string
	Env                        map[string]string
	With                       map[string]string
	Dir                        string `yaml:"working-directory"`
}

func fromRoot(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{fixtures.Dir(), ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readAction(t testing.TB) *actionFile {
	t.Helper()
	var a actionFile
	if err := yaml.Unmarshal([]byte(fromRoot(t, "action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

var (
	expression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)
	inputName  = regexp.MustCompile(`\binputs\.([a-z-]+)`)
	outputOf   = regexp.MustCompile(`^\$\{\{ steps\.run\.outputs\.([a-z-]+) \}\}$`)
	ownVar     = regexp.MustCompile(`\bSIXLINK_[A-Z]+\b`)
)

// Every input that is used is declared and the other way round, and an expression is only
// ever the value of a variable: no text of a workflow becomes part of a command.
func TestActionInterpolatesNothing(t *testing.T) {
	a := readAction(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) == 0 {
		t.Fatalf("using %q, %d steps", a.Runs.Using, len(a.Runs.Steps))
	}
	used := map[string]bool{}
	set := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if s.Uses != "" {
			t.Errorf("step %s uses %s: the action brings nobody else's", s.Name, s.Uses)
		}
		if s.Shell != "bash" {
			t.Errorf("step %s: shell %q", s.Name, s.Shell)
		}
		if expression.MatchString(s.Run) {
			t.Errorf("step %s has an expression in its command: %s", s.Name, s.Run)
		}
		if !regexp.MustCompile(`^bash "\$GITHUB_ACTION_PATH/\.ci/action" [a-z]+$`).MatchString(s.Run) {
			t.Errorf("step %s: the command %q is none that the test knows: are its variables quoted?", s.Name, s.Run)
		}
		for name, v := range s.Env {
			set[name] = true
			if !regexp.MustCompile(`^\$\{\{ inputs\.[a-z-]+ \}\}$`).MatchString(v) {
				t.Errorf("step %s: %s is %q, and not one input", s.Name, name, v)
			}
		}
		for _, v := range slices.Concat([]string{s.Dir}, slices.Collect(maps.Values(s.Env))) {
			for _, m := range inputName.FindAllStringSubmatch(v, -1) {
				used[m[1]] = true
				if _, ok := a.Inputs[m[1]]; !ok {
					t.Errorf("step %s uses the input %s, which is not declared", s.Name, m[1])
				}
			}
		}
	}
	for name, in := range a.Inputs {
		if !used[name] {
			t.Errorf("the input %s is declared and not used", name)
		}
		if in.Description == "" {
			t.Errorf("the input %s has no description", name)
		}
	}
	script := fromRoot(t, ".ci", "action")
	reads := map[string]bool{}
	for _, v := range ownVar.FindAllString(strings.ReplaceAll(script, "SIXLINK_$name", ""), -1) {
		reads[v] = true
	}
	if got, want := slices.Sorted(maps.Keys(reads)), slices.Sorted(maps.Keys(set)); !slices.Equal(got, want) {
		t.Errorf(".ci/action reads %v, action.yml sets %v", got, want)
	}
	for name, out := range a.Outputs {
		if m := outputOf.FindStringSubmatch(out.Value); m == nil || m[1] != name {
			t.Errorf("the output %s has the value %q", name, out.Value)
		}
	}
}

// Every expansion of .ci/action stands in double quotes: outside of them the shell would
// split and glob it. What stands in [[ ]] is not split, and an exit code is a number.
func TestActionQuotes(t *testing.T) {
	for n, line := range strings.Split(fromRoot(t, ".ci", "action"), "\n") {
		code := strings.TrimSpace(line)
		if strings.HasPrefix(code, "#") {
			continue
		}
		inside, single := false, false
		var outer []bool // of each $( that is open, whether it stands in quotes
		for i := 0; i < len(code); i++ {
			switch c := code[i]; {
			case c == '\\' && !single:
				i++
			case c == '\'' && !inside:
				single = !single
			case c == '"' && !single:
				inside = !inside
			case strings.HasPrefix(code[i:], "$(") && !single:
				outer = append(outer, inside)
				inside = false
				i++
			case c == ')' && !inside && !single && len(outer) > 0:
				inside, outer = outer[len(outer)-1], outer[:len(outer)-1]
			case c == '$' && !inside && !single && i+1 < len(code) && code[i+1] != '\'':
				rest := code[i:]
				if strings.HasPrefix(rest, "$?") || strings.LastIndex(code[:i], "[[ ") > strings.LastIndex(code[:i], " ]]") {
					continue
				}
				t.Errorf(".ci/action:%d: an expansion outside quotes: %s", n+1, code)
			}
		}
	}
}

// docs/ci.md has every input with its default, and every output.
func TestActionIsDocumented(t *testing.T) {
	a, page := readAction(t), fromRoot(t, "docs", "ci.md")
	for name, in := range a.Inputs {
		def := ""
		if in.Default != "" {
			def = "`" + in.Default + "`"
		}
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta("`"+name+"`") + ` \| ?` + regexp.QuoteMeta(def) + ` ?\| \S`)
		if !row.MatchString(page) {
			t.Errorf("docs/ci.md has no row of the input %s with the default %q", name, in.Default)
		}
	}
	for name := range a.Outputs {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/ci.md lacks the output %s", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\|.*\\|$").FindAllStringSubmatch(page, -1) {
		if _, ok := a.Inputs[m[1]]; !ok && m[1] != "verdict" && m[1] != "exit-code" {
			t.Errorf("docs/ci.md has the input %s, which is not declared", m[1])
		}
	}
}

// examples prints the commands of one example of docs/ci.md as a shell script, without what
// installs and builds: github N (the Nth step that uses the action, as the runner runs it),
// gitlab, jenkins or sh.
func examples() {
	root := filepath.Join(fixtures.Dir(), "..")
	b, err := os.ReadFile(filepath.Join(root, "docs", "ci.md"))
	if err == nil {
		err = printExample(os.Stdout, root, string(b), os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "examples:", err)
		os.Exit(2)
	}
}

func printExample(w io.Writer, root, page string, args []string) error {
	heading := map[string]string{"github": "GitHub", "gitlab": "GitLab", "jenkins": "Jenkins", "sh": "Anywhere else"}[args[0]]
	_, section, ok := strings.Cut(page, "\n## "+heading+"\n")
	if !ok {
		return fmt.Errorf("no section %s", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	m := regexp.MustCompile("(?s)```[a-z]+\n(.*?)\n```").FindStringSubmatch(section)
	if m == nil {
		return fmt.Errorf("section %s has no example", heading)
	}
	switch args[0] {
	case "github":
		return githubExample(w, root, m[1], args[1])
	case "gitlab":
		var jobs map[string]struct {
			Before []string `yaml:"before_script"`
			Script []string
			After  []string `yaml:"after_script"`
		}
		if err := yaml.Unmarshal([]byte(m[1]), &jobs); err != nil {
			return err
		}
		for _, j := range jobs {
			fmt.Fprintf(w, "(set -e\n%s\n) && rc=0 || rc=$?\n(\n%s\n)\nexit $rc\n", strings.Join(j.Script, "\n"), strings.Join(j.After, "\n"))
		}
	case "jenkins":
		n := 0
		for _, c := range regexp.MustCompile(`sh(?:\(returnStatus: true, script:)? '(.*)'`).FindAllStringSubmatch(m[1], -1) {
			if !strings.HasPrefix(c[1], "go install") {
				if n++; n == 1 {
					c[1] += " && rc=0 || rc=$?"
				}
				fmt.Fprintln(w, c[1])
			}
		}
		fmt.Fprintln(w, "exit $rc")
	default:
		fmt.Fprintln(w, m[1])
	}
	return nil
}

func githubExample(w io.Writer, root, doc, which string) error {
	var flow struct {
		Jobs yaml.MapSlice
	}
	if err := yaml.Unmarshal([]byte(doc), &flow); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		return err
	}
	var action actionFile
	if err := yaml.Unmarshal(raw, &action); err != nil {
		return err
	}
	n := 0
	for _, item := range flow.Jobs {
		b, err := yaml.Marshal(item.Value)
		if err != nil {
			return err
		}
		var job struct{ Steps []step }
		if err := yaml.Unmarshal(b, &job); err != nil {
			return err
		}
		for _, s := range job.Steps {
			if !strings.HasPrefix(s.Uses, "sixlink/sixlink@") {
				continue
			}
			if n++; fmt.Sprint(n) != which {
				continue
			}
			for name := range s.With {
				if _, ok := action.Inputs[name]; !ok {
					return fmt.Errorf("the example uses the input %s, which action.yml does not declare", name)
				}
			}
			for _, as := range action.Runs.Steps {
				for _, key := range slices.Sorted(maps.Keys(as.Env)) {
					in := inputName.FindStringSubmatch(as.Env[key])[1]
					v, ok := s.With[in]
					if !ok {
						v = action.Inputs[in].Default
					}
					if in == "version" {
						v = "installed"
					}
					fmt.Fprintf(w, "export %s='%s'\n", key, strings.ReplaceAll(v, "'", `'\''`))
				}
				fmt.Fprintln(w, as.Run)
			}
			return nil
		}
	}
	return fmt.Errorf("the example has %d steps that use the action", n)
}
