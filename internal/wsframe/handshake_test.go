package wsframe

import "testing"

func TestAppendAccept(t *testing.T) {
	const key, want = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" // RFC 6455 section 1.3
	if got := AppendAccept([]byte("x"), []byte(key)); string(got) != "x"+want {
		t.Errorf("%q", got)
	}
	if digestUnenforced([]byte(key)) != digest([]byte(key)) {
		t.Error("the digests differ")
	}
}

func TestValidKey(t *testing.T) {
	for key, want := range map[string]bool{
		"dGhlIHNhbXBsZSBub25jZQ==":  true,
		"x3JJHMbDL1EzLkh9GBhXDw==":  true,
		"+/+/+/+/+/+/+/+/+/+/+/==":  true,
		"":                          false,
		"dGhlIHNhbXBsZSBub25jZQ=":   false,
		"dGhlIHNhbXBsZSBub25jZQ===": false,
		"dGhlIHNhbXBsZSBub25jZQ=a":  false,
		"dGhlIHNhbXBsZSBub25jZQa=":  false,
		"dGhlIHNhbXBsZSBub2 jZQ==":  false,
		"dGhlIHNhbXBsZSBub2-_ZQ==":  false,
		"dGhlIHNhbXBs=SBub25jZQ==":  false,
	} {
		if ValidKey([]byte(key)) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}
