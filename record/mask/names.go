package mask

import "strings"

// Strength is how surely a name says that its value is a credential.
type Strength uint8

const (
	// None: the value is no credential as far as the name tells.
	None Strength = iota
	// Weak names ("key", "auth") have credentials and other things as values:
	// the value decides.
	Weak
	// Strong names ("password", "api_key") have credentials as values.
	Strong
)

// NameStrength judges the name of an option, an environment variable, a JSON
// member or a header: "api-key", "ACME_API_KEY", "apiKey" and "X-Api-Key" are
// the same.
func NameStrength(name string) Strength {
	w := nameWords(name)
	if len(w) == 0 || name == "PWD" || name == "OLDPWD" {
		return None
	}
	last := w[len(w)-1]
	if aside[last] || switches[w[0]] {
		return None
	}
	for _, x := range w {
		if amounts[x] {
			return None
		}
	}
	for i, x := range w {
		if strong[x] {
			return Strong
		}
		for _, end := range strongEnds {
			if strings.HasSuffix(x, end) {
				return Strong
			}
		}
		if i > 0 && (x == "key" || x == "keys") {
			if w[i-1] == "public" {
				return None
			}
			if keyKinds[w[i-1]] {
				return Strong
			}
		}
	}
	if last == "pass" {
		return Strong
	}
	if weak[last] {
		return Weak
	}
	return None
}

// ParamStrength judges the name of a query, fragment or form parameter: there
// a few short names are credentials that elsewhere are not (OAuth's code,
// signatures of URLs).
func ParamStrength(name string) Strength {
	switch strings.ToLower(name) {
	case "code", "code_verifier", "assertion", "client_assertion", "device_code", "user_code", "verification_uri_complete",
		"id_token_hint", "samlresponse", "sig", "signature", "x-amz-signature", "x-goog-signature":
		return Strong
	}
	return NameStrength(name)
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

var (
	strong = set(`password passwd passphrase passcode pwd secret secrets token credential credentials
		jwt bearer authorization`)
	// strongEnds are for names without borders: PGPASSWORD, authtoken.
	strongEnds = []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey"}
	keyKinds   = set(`api access private secret auth signing encryption account master service deploy app
		application session storage admin`)
	weak = set(`key keys auth pat tokens cookie cookies cred creds otp sas sig signature`)

	// aside are last words that make a name tell about a credential, not be one:
	// TOKEN_FILE, SSH_AUTH_SOCK, token_type.
	aside = set(`file files path dir directory folder url uri urls endpoint host hostname port name names
		count limit limits max min length len size ttl expiry expires expiration expire in timeout age lifetime
		type kind env var variable stdin prompt mode policy format header headers field prefix suffix algorithm alg
		version username user email server provider region hint budget enabled disabled required optional store
		sock socket agent pid method methods audience issuer scope scopes realm cache helper manager rotation
		location domain source backend behavior strategy support supported verify verification check service
		usage used cost price window parallelism`)
	// amounts are words that make tokens and keys things that are counted.
	amounts = set(`max maximum min minimum num number count total avg budget limit tokenizer tokenizers`)
	// switches are first words of options that take no credential.
	switches = set(`no disable without skip require required use allow enable enabled with has is show hide print`)
)

// nameWords splits a name at signs and where small letters turn to capitals, in
// lower case, without numbers.
func nameWords(name string) []string {
	var words []string
	start := 0
	cut := func(end int) {
		w := strings.ToLower(strings.Trim(name[start:end], "0123456789"))
		if w != "" {
			words = append(words, w)
		}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case !isNameByte(c) || c == '-' || c == '_' || c == '.':
			cut(i)
			start = i + 1
		case i > start && isUpper(c) && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1])):
			// "apiKey", and the K of "APIKey"
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return words
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
