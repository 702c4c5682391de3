package compress

import "testing"

func TestNegotiate(t *testing.T) {
	all := []Coding{Brotli, Gzip, Deflate, Zstd}
	cases := []struct {
		name     string
		accept   []string
		offer    []Coding
		want     Coding
		required bool
	}{
		{"no field", nil, all, Identity, false},
		{"empty field", []string{""}, all, Identity, false},
		{"one", []string{"gzip"}, all, Gzip, false},
		{"upper case", []string{"GZip"}, all, Gzip, false},
		{"old name", []string{"x-gzip"}, all, Gzip, false},
		{"a browser", []string{"gzip, deflate, br, zstd"}, all, Brotli, false},
		{"offer decides among equals", []string{"gzip, deflate, br, zstd"}, []Coding{Zstd, Gzip}, Zstd, false},
		{"two lines", []string{"deflate", "gzip"}, all, Gzip, false},
		{"weights decide", []string{"gzip;q=1, br;q=0.1"}, all, Gzip, false},
		{"thousandths", []string{"gzip;q=0.501, br;q=0.5"}, all, Gzip, false},
		{"spaces", []string{" gzip ; q=0.2 ,\tdeflate\t;\tq=0.3"}, all, Deflate, false},
		{"refused", []string{"br;q=0, gzip"}, all, Gzip, false},
		{"all refused", []string{"br;q=0, gzip;q=0.000"}, all, Identity, false},
		{"star", []string{"*"}, all, Brotli, false},
		{"star but one", []string{"br;q=0, *"}, all, Gzip, false},
		{"star refused", []string{"*;q=0"}, all, Identity, false},
		{"star refused but one", []string{"gzip, *;q=0"}, all, Gzip, true},
		{"identity only", []string{"identity"}, all, Identity, false},
		{"identity liked more", []string{"identity, gzip;q=0.5"}, all, Identity, false},
		{"identity as good", []string{"identity, gzip"}, all, Gzip, false},
		{"identity liked less", []string{"identity;q=0.5, gzip;q=0.6"}, all, Gzip, false},
		{"identity refused", []string{"identity;q=0, gzip;q=0.1"}, all, Gzip, true},
		{"everything refused", []string{"identity;q=0"}, all, Identity, false},
		{"unknown", []string{"sdch, compress"}, all, Identity, false},
		{"not a name", []string{"xgzip, gzipx, gz ip"}, all, Identity, false},
		{"not offered", []string{"br"}, []Coding{Gzip}, Identity, false},
		{"nothing offered", []string{"gzip"}, nil, Identity, false},
		{"broken weight", []string{"br;q=2, zstd;q=, deflate;q=a, gzip;q=0.5"}, all, Gzip, false},
		{"too exact", []string{"br;q=0.1234, gzip;q=0.1"}, all, Gzip, false},
		{"above one", []string{"br;q=1.001, gzip"}, all, Gzip, false},
		{"other parameter", []string{"br;level=3, gzip"}, all, Gzip, false},
		{"first mention", []string{"gzip;q=0, gzip"}, all, Identity, false},
		{"empty members", []string{",, gzip,,"}, all, Gzip, false},
	}
	for _, c := range cases {
		var values [][]byte
		for _, a := range c.accept {
			values = append(values, []byte(a))
		}
		got, required := Negotiate(values, c.offer...)
		if got != c.want || required != c.required {
			t.Errorf("%s: %q gives %v required=%v, want %v required=%v", c.name, c.accept, got, required, c.want, c.required)
		}
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add([]byte("gzip;q=0.5, br, *;q=0"))
	f.Fuzz(func(t *testing.T, v []byte) {
		c, _ := Negotiate([][]byte{v}, Brotli, Gzip)
		if c != Identity && c != Brotli && c != Gzip {
			t.Fatalf("%q gives %v, which wasn't offered", v, c)
		}
	})
}

func TestCompressible(t *testing.T) {
	for typ, want := range map[string]bool{
		"":                              true,
		"text/html; charset=utf-8":      true,
		"TEXT/Plain":                    true,
		"application/json":              true,
		"application/octet-stream":      true,
		"application/ld+json;profile=x": true,
		"image/svg+xml":                 true,
		"image/x-icon":                  true,
		"model/gltf+json":               true,
		"font/ttf":                      true,
		"application/wasm":              true,
		"application/zip":               false,
		"Application/GZIP":              false,
		"font/woff2":                    false,
		"image/png":                     false,
		"image/jpeg":                    false,
		"video/mp4":                     false,
		"audio/ogg":                     false,
		"text":                          false,
		"application/":                  false,
		"x/y":                           false,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": false,
	} {
		if got := Compressible([]byte(typ)); got != want {
			t.Errorf("Compressible(%q) = %v, want %v", typ, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Coding{"": Identity, "identity": Identity, "gzip": Gzip, "X-GZIP": Gzip, "deflate": Deflate, "BR": Brotli, "zstd": Zstd} {
		if c, ok := Parse([]byte(name)); c != want || !ok {
			t.Errorf("Parse(%q) = %v %v, want %v", name, c, ok, want)
		}
	}
	for _, name := range []string{"compress", "gzip, br", " gzip", "*"} {
		if c, ok := Parse([]byte(name)); ok {
			t.Errorf("Parse(%q) = %v, want no coding", name, c)
		}
	}
}
