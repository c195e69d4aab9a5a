package mask

import "strings"

// FromHeaders makes a masker for what a user gives with every request to a
// server: the values of header fields, credentials in the server's URL, and those
// of the environment, in this order. Whatever a field is called, its value is
// replaced wherever [Masker.Header] meets the field.
func FromHeaders(key Key, url string, fields [][2]string, env []string) *Masker {
	c := collector{}
	for _, f := range fields {
		c.add(f[1])
	}
	for _, f := range inArgv([]string{url}) {
		c.add(f.value)
	}
	c.addEnv(env)
	m := c.masker(key)
	for _, f := range fields {
		if m.fields == nil {
			m.fields = map[string]bool{}
		}
		m.fields[strings.ToLower(f[0])] = true
	}
	return m
}
