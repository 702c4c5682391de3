package listing

import (
	"crypto/sha256"
	_ "embed" // for the texts below
	"encoding/base64"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale"
)

var (
	//go:embed assets/page.css
	styleText string
	//go:embed assets/page.js
	scriptText string
	//go:embed assets/upload.js
	uploadText string
	//go:embed assets/icons.svg
	iconsText string
)

// policies are the values of Content-Security-Policy. Style and scripts in a page are
// allowed by their hashes. A page may be shown in frames only by pages of the same origin.
type policies struct{ page, upload, plain string }

var policy = sync.OnceValue(func() policies {
	common := "default-src 'none'; style-src " + hashSource(styleText) + "; img-src data:; base-uri 'none'; frame-ancestors 'self'; "
	own := common + "connect-src 'self'; form-action 'self'; script-src " + hashSource(scriptText)
	return policies{
		page:   own,
		upload: own + " " + hashSource(uploadText),
		plain:  common + "form-action 'none'",
	}
})

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func listingPolicy(upload bool) string {
	if upload {
		return policy().upload
	}
	return policy().page
}

// setPolicy sets the fields of our own pages. Other origins don't learn the path from
// Referer. (With "no-referrer" forms would be sent without their origin, which uploads need.)
func setPolicy(ctx *gale.RequestCtx, value string) {
	ctx.Response.Header.Set(gale.HeaderContentSecurityPolicy, value)
	ctx.Response.Header.Set(gale.HeaderReferrerPolicy, "same-origin")
}

// appendHead appends the page up to <body>.
func appendHead(dst []byte, title string) []byte {
	dst = append(dst, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%23c78a1b' d='M1 3h5l2 2h7v9H1z'/%3E%3C/svg%3E">
<title>`...)
	dst = appendHTML(dst, title)
	dst = append(dst, "</title>\n<style>"...)
	dst = append(dst, styleText...)
	return append(dst, "</style>\n</head>\n"...)
}

// appendPage appends the listing as a page of HTML.
func (p *Pages) appendPage(dst []byte, f *folder, v *view) []byte {
	segments := strings.Split(strings.Trim(v.path, "/"), "/")
	if segments[0] == "" {
		segments = nil
	}
	dst = appendHead(dst, "Index of "+shownName(v.path))
	dst = append(dst, "<body>\n"...)
	dst = append(dst, iconsText...)
	dst = append(dst, "<a class=\"skip\" href=\"#list\">Skip to the list</a>\n<header>\n"...)
	dst = appendCrumbs(dst, segments)
	dst = append(dst, "</header>\n<main>\n<div class=\"tools\">\n"...)
	dst = appendFilter(dst, v)
	dst = p.appendActions(dst)
	dst = append(dst, "</div>\n"...)
	if p.Upload {
		dst = append(dst, uploadList...)
	}
	dst = append(dst, "<p id=\"status\" class=\"unseen\" role=\"status\"></p>\n"...)
	dst = p.appendList(dst, f, v)
	dst = append(dst, "</main>\n<script>"...)
	dst = append(append(dst, scriptText...), "</script>\n"...)
	if p.Upload {
		dst = append(append(append(dst, "<script>"...), uploadText...), "</script>\n"...)
	}
	return append(dst, "</body>\n</html>\n"...)
}

// appendActions appends what can be done with the folder besides looking at it.
func (p *Pages) appendActions(dst []byte) []byte {
	if !p.Zip && !p.Upload {
		return dst
	}
	dst = append(dst, "<div class=\"actions\">\n"...)
	if p.Zip {
		dst = append(dst, `<a class="button" id="zip" href="?zip" download><svg class="i" aria-hidden="true"><use href="#archive"/></svg>Download as zip</a>`+"\n"...)
	}
	if p.Upload {
		dst = append(dst, uploadForm...)
	}
	return append(dst, "</div>\n"...)
}

// The form works without the script. With it, the button opens the choice of files, and they
// are sent at once.
const uploadForm = `<form id="upload" method="post" enctype="multipart/form-data" action="./">
<label class="plain" for="files">Upload files</label>
<input class="plain" type="file" id="files" name="file" multiple required>
<button class="plain" type="submit">Upload</button>
<button class="button scripted" type="button" id="choose"><svg class="i" aria-hidden="true"><use href="#up"/></svg>Upload files</button>
</form>
`

const uploadList = `<section id="uploads" aria-label="Uploads" hidden>
<ul></ul>
<button class="button" type="button" id="forget" hidden>Clear this list</button>
</section>
<div id="drop" aria-hidden="true" hidden><p><svg class="i"><use href="#up"/></svg>Drop files to upload them here</p></div>
`

// appendCrumbs appends links to the folders above, and the name of this one as the heading.
func appendCrumbs(dst []byte, segments []string) []byte {
	if len(segments) == 0 {
		return append(dst, "<h1>Home</h1>\n"...)
	}
	dst = append(dst, "<nav aria-label=\"Folders above\"><ol>\n"...)
	for i := range segments {
		dst = append(dst, "<li><a href=\""...)
		for range len(segments) - i {
			dst = append(dst, "../"...)
		}
		dst = append(dst, "\">"...)
		if i == 0 {
			dst = append(dst, "Home"...)
		} else {
			dst = appendName(dst, segments[i-1])
		}
		dst = append(dst, "</a></li>\n"...)
	}
	dst = append(dst, "</ol></nav>\n<h1>"...)
	return append(appendName(dst, segments[len(segments)-1]), "</h1>\n"...)
}

func appendName(dst []byte, name string) []byte {
	dst = append(dst, "<bdi>"...)
	return append(appendHTML(dst, shownName(name)), "</bdi>"...)
}

func appendFilter(dst []byte, v *view) []byte {
	dst = append(dst, `<form id="filter" role="search" method="get" action="./">
<label class="unseen" for="q">Filter by name</label>
<input type="search" id="q" name="q" placeholder="Filter by name" autocomplete="off" autocapitalize="off" spellcheck="false" value="`...)
	dst = appendHTML(dst, strings.ToValidUTF8(v.query, "\uFFFD"))
	dst = append(dst, "\">\n"...)
	if v.sort != byName {
		dst = append(append(append(dst, `<input type="hidden" name="sort" value="`...), v.sort...), "\">\n"...)
	}
	if v.desc {
		dst = append(dst, `<input type="hidden" name="order" value="desc">`+"\n"...)
	}
	return append(dst, "<kbd aria-hidden=\"true\">/</kbd>\n<button class=\"plain\" type=\"submit\">Filter</button>\n</form>\n"...)
}

// appendList appends the part of the page that the script replaces by that of another
// request. data-whole says that the page has all names of the folder, so that the script can
// filter and sort them itself.
func (p *Pages) appendList(dst []byte, f *folder, v *view) []byte {
	dst = append(dst, "<section id=\"list\" tabindex=\"-1\" aria-label=\"Files and folders\""...)
	if v.query == "" && v.pages == 1 && !f.cut {
		dst = append(dst, " data-whole"...)
	}
	dst = append(dst, ">\n<p id=\"summary\""...)
	if f.all == 0 {
		dst = append(dst, " hidden"...)
	}
	dst = append(dst, '>')
	dst = appendSummary(dst, f, v)
	dst = append(dst, "</p>\n"...)
	if f.cut {
		dst = append(dst, "<p class=\"note\">This folder has more files than a listing can hold. Only the first "...)
		dst = append(appendNumber(dst, maxNames), " that the system reported are here.</p>\n"...)
	}
	if len(f.entries) == 0 {
		dst = p.appendNothing(dst, v)
	} else {
		dst = appendTable(dst, f, v)
	}
	dst = appendPager(dst, v)
	return append(dst, "</section>\n"...)
}

// appendSummary appends "3 folders, 12 files, 4.2 MB".
func appendSummary(dst []byte, f *folder, v *view) []byte {
	if v.query != "" {
		dst = append(appendNumber(dst, f.dirs+f.files), " of "...)
		dst = appendNumber(dst, f.all)
		dst = append(dst, " match “"...)
		dst = append(appendName(dst, v.query), "”"...)
	}
	if f.dirs+f.files == 0 {
		if v.query == "" {
			dst = append(dst, "no files"...)
		}
		return dst
	}
	if v.query != "" {
		dst = append(dst, ": "...)
	}
	if f.dirs > 0 {
		dst = appendCount(dst, f.dirs, "folder")
		if f.files > 0 {
			dst = append(dst, ", "...)
		}
	}
	if f.files == 0 {
		return dst
	}
	dst = appendCount(dst, f.files, "file")
	if f.sized {
		dst = appendSize(append(dst, ", "...), f.size)
	}
	return dst
}

func (p *Pages) appendNothing(dst []byte, v *view) []byte {
	if v.query != "" {
		dst = append(dst, "<p class=\"nothing\">No name contains this text. <a href=\""...)
		none := *v
		none.query = ""
		dst = appendHTML(dst, string(none.appendQuery(nil, v.sort, v.desc, 1)))
		return append(dst, "\">Show all</a></p>\n"...)
	}
	if p.Upload {
		return append(dst, "<p class=\"nothing\">This folder is empty.<span class=\"scripted\"> Drop files here to upload them.</span></p>\n"...)
	}
	return append(dst, "<p class=\"nothing\">This folder is empty.</p>\n"...)
}

// appendTable appends the entries. The roles repeat what the elements mean: some browsers
// forget that when a style sheet lays a table out in another way, as ours does on phones.
func appendTable(dst []byte, f *folder, v *view) []byte {
	dst = append(dst, "<table role=\"table\">\n<thead role=\"rowgroup\"><tr role=\"row\">"...)
	for _, column := range []struct {
		key         sortKey
		class, text string
	}{
		{byName, "n", "Name"},
		{bySize, "s", "Size"},
		{byTime, "t", `Modified<span class="utc"> (UTC)</span>`},
	} {
		desc, state := column.key.startsDesc(), "none"
		if v.sort == column.key {
			desc, state = !v.desc, "ascending"
			if v.desc {
				state = "descending"
			}
		}
		dst = append(dst, `<th scope="col" role="columnheader" class="`+column.class+`" aria-sort="`+state+`" data-sort="`...)
		dst = append(append(dst, column.key...), `"><a href="`...)
		dst = appendHTML(dst, string(v.appendQuery(nil, column.key, desc, 1)))
		dst = append(append(append(dst, "\">"...), column.text...), "</a></th>"...)
	}
	dst = append(dst, "</tr></thead>\n<tbody role=\"rowgroup\">\n"...)
	for i := range f.entries {
		dst = appendRow(dst, &f.entries[i])
	}
	return append(dst, "</tbody>\n</table>\n"...)
}

func appendRow(dst []byte, e *entry) []byte {
	icon := "folder"
	if !e.dir {
		icon = kindOf(e.name)
	}
	dst = append(dst, `<tr role="row"><th scope="row" role="rowheader" class="n"><a href="`...)
	dst = appendHref(dst, e.name, e.dir)
	dst = append(append(append(dst, `"><svg class="i" aria-hidden="true"><use href="#`...), icon...), `"/></svg><span>`...)
	dst = appendName(dst, e.name)
	if e.dir {
		dst = append(dst, '/')
	}
	dst = append(dst, `</span></a></th><td role="cell" class="s"`...)
	if !e.dir {
		dst = strconv.AppendInt(append(dst, ` data-size="`...), e.size, 10)
		dst = appendSize(append(dst, `">`...), e.size)
	} else {
		dst = append(dst, '>')
	}
	dst = append(dst, `</td><td role="cell" class="t"><time datetime="`...)
	t := time.Unix(e.time, 0).UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	dst = t.AppendFormat(append(dst, `">`...), "2006-01-02 15:04")
	return append(dst, "</time></td></tr>\n"...)
}

// appendPager appends links to the other pages.
func appendPager(dst []byte, v *view) []byte {
	if v.pages == 1 {
		return dst
	}
	link := func(page int, attr, text string) {
		if page < 1 || page > v.pages || page == v.page {
			dst = append(append(append(dst, "<span class=\"button\" aria-hidden=\"true\">"...), text...), "</span>\n"...)
			return
		}
		dst = append(append(append(dst, "<a class=\"button\" "...), attr...), " href=\""...)
		dst = appendHTML(dst, string(v.appendQuery(nil, v.sort, v.desc, page)))
		dst = append(append(append(dst, "\">"...), text...), "</a>\n"...)
	}
	dst = append(dst, "<nav class=\"pager\" aria-label=\"Pages\">\n"...)
	link(1, "", "First")
	link(v.page-1, `rel="prev"`, "Previous")
	dst = append(dst, "<span>Page "...)
	dst = append(appendNumber(dst, v.page), " of "...)
	dst = append(appendNumber(dst, v.pages), "</span>\n"...)
	link(v.page+1, `rel="next"`, "Next")
	link(v.pages, "", "Last")
	return append(dst, "</nav>\n"...)
}
