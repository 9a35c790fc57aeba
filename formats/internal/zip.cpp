#include "formats/internal/zip.h"

#include <heed/autograd/error.h>
#include <heed/files/utf8.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <unistd.h>
#include <zlib.h>

namespace heed {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50;
constexpr std::uint64_t end64_mark = 0x06064b50, in_zip64 = 0xFFFFFFFF;
constexpr std::size_t local_size = 30, central_size = 46, end_size = 22, locator64_size = 20, end64_size = 56;

// Reads little-endian numbers of an archive; throws Error beyond its end.
struct ZipArchive {
  std::string_view bytes;
  const std::string& source;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: damaged ZIP archive: {}", source, fmt::format(format, std::forward<Args>(args)...));
  }
  std::string_view part(std::uint64_t begin, std::uint64_t size) const {
    if (begin > bytes.size() || size > bytes.size() - begin) refuse("it ends within a header or a file");
    return bytes.substr(begin, size);
  }
  std::uint64_t number(std::uint64_t at, int size) const {
    const std::string_view text = part(at, static_cast<std::uint64_t>(size));
    std::uint64_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    return value;
  }
};

struct ZipEntry {
  std::string name;
  std::uint64_t flags, method, crc, packed, size,
      header;  // bytes in the archive and unpacked, and the local header's place
};

// Replaces sizes and place that are given by the extra field of ZIP64.
void read_zip64(const ZipArchive& zip, std::uint64_t at, std::uint64_t end, ZipEntry& entry) {
  for (; at + 4 <= end; at += 4 + zip.number(at + 2, 2)) {
    if (zip.number(at, 2) != 1) continue;
    std::uint64_t next = at + 4;
    for (std::uint64_t* const field : {&entry.size, &entry.packed, &entry.header}) {
      if (*field != in_zip64) continue;
      *field = zip.number(next, 8);
      next += 8;
    }
    return;
  }
}

std::vector<ZipEntry> zip_entries(const ZipArchive& zip) {
  // The end record is followed by a comment of at most 65,535 bytes.
  const std::size_t size = zip.bytes.size();
  const std::size_t first = size < end_size + 65535 ? 0 : size - end_size - 65535;
  std::size_t end = zip.bytes.rfind(std::string_view("PK\x05\x06"));
  if (end == std::string_view::npos || end < first || size - end < end_size) {
    zip.refuse("its directory is missing; was the file cut off, or is it of another kind?");
  }
  std::uint64_t count = zip.number(end + 10, 2), at = zip.number(end + 16, 4), last = end;
  if (at == in_zip64 || count == 0xFFFF) {
    if (end < locator64_size) zip.refuse("its directory is missing");
    const std::uint64_t end64 = zip.number(end - locator64_size + 8, 8);
    if (zip.part(end64, end64_size).empty() || zip.number(end64, 4) != end64_mark)
      zip.refuse("its directory is missing");
    last = end64;
    count = zip.number(end64 + 32, 8);
    at = zip.number(end64 + 48, 8);
  }
  if (count > size / central_size) zip.refuse("its directory has fewer than the {} files that it counts", count);
  std::vector<ZipEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (zip.number(at, 4) != central_mark) zip.refuse("entry {} of its directory is not one", i);
    const std::uint64_t flags = zip.number(at + 8, 2);
    if (flags & 1) zip.refuse("a file is encrypted");
    const std::uint64_t name = zip.number(at + 28, 2), extra = zip.number(at + 30, 2), comment = zip.number(at + 32, 2);
    ZipEntry entry{std::string(zip.part(at + central_size, name)),
                   flags,
                   zip.number(at + 10, 2),
                   zip.number(at + 16, 4),
                   zip.number(at + 20, 4),
                   zip.number(at + 24, 4),
                   zip.number(at + 42, 4)};
    zip.part(at + central_size + name, extra);
    read_zip64(zip, at + central_size + name, at + central_size + name + extra, entry);
    entries.push_back(std::move(entry));
    at += central_size + name + extra + comment;
  }
  if (at != last)
    zip.refuse("its directory counts {}, but has more", counted(static_cast<std::int64_t>(count), "file"));
  return entries;
}

// Returns the place of a file's first compressed byte.
std::uint64_t begin_of(const ZipArchive& zip, const ZipEntry& entry) {
  if (zip.number(entry.header, 4) != local_mark) zip.refuse("the header of '{}' is missing", excerpt(entry.name));
  return entry.header + local_size + zip.number(entry.header + 26, 2) + zip.number(entry.header + 28, 2);
}

// Throws Error for files that the directory does not have: one at the beginning, or behind one of the directory's.
void check_complete(const ZipArchive& zip, const std::vector<ZipEntry>& entries) {
  constexpr std::uint64_t has_descriptor = 8;  // 12 to 24 bytes behind the file
  std::set<std::uint64_t> headers;
  for (const ZipEntry& entry : entries) headers.insert(entry.header);
  const auto check = [&](std::uint64_t at) {
    if (at + 4 > zip.bytes.size() || zip.number(at, 4) != local_mark || headers.contains(at)) return;
    zip.refuse("it has a file at byte {} that its directory does not have", at);
  };
  check(0);
  for (const ZipEntry& entry : entries) {
    if (!(entry.flags & has_descriptor)) check(begin_of(zip, entry) + entry.packed);
  }
}

constexpr std::size_t first_piece = std::size_t{64} << 10;

std::string inflated(const ZipArchive& zip, std::string_view packed, const ZipEntry& entry, const ZipCheck& check) {
  constexpr std::uint64_t largest_ratio = 1032;  // of deflate
  if (entry.size / largest_ratio > packed.size()) {
    zip.refuse("'{}' cannot have {} bytes, with {} compressed ones", excerpt(entry.name), entry.size, packed.size());
  }
  std::string text(std::min<std::uint64_t>(entry.size, first_piece), '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) fail("{}: zlib cannot begin to inflate", zip.source);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> open(&stream, inflateEnd);
  constexpr std::size_t piece = std::size_t{1} << 30;
  std::size_t read = 0, written = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    const std::size_t in = std::min(piece, packed.size() - read), out = std::min(piece, text.size() - written);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    result = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
    if (result == Z_OK && in == stream.avail_in && out == stream.avail_out) break;  // no progress
    if (result != Z_OK || written < text.size() || written == entry.size) continue;
    if (written == first_piece) check(entry.name, text, entry.size);
    text.resize(std::min<std::uint64_t>(entry.size, 2 * text.size()));  // takes memory as the file fills it
  }
  if (result != Z_STREAM_END || written != entry.size) zip.refuse("'{}' cannot be decompressed", excerpt(entry.name));
  return text;
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string little_endian(std::initializer_list<std::pair<std::uint64_t, int>> numbers) {
  std::string text;
  for (const auto& [value, size] : numbers) {
    for (int i = 0; i < size; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_zip(std::string_view bytes, const std::string& source,
                                                          const ZipCheck& check) {
  const ZipArchive zip{bytes, source};
  const std::vector<ZipEntry> entries = zip_entries(zip);
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  std::uint64_t packed = 0;
  double unpacked = 0;
  std::set<std::string> names;
  for (const ZipEntry& entry : entries) {
    if (!names.insert(entry.name).second) zip.refuse("'{}' occurs twice", excerpt(entry.name));
    if (entry.packed > bytes.size() || (packed += entry.packed) > bytes.size()) {
      zip.refuse("its files have more compressed bytes than it");
    }
    if ((unpacked += static_cast<double>(entry.size)) > memory) {
      fail("{}: its files have {:.1f} GB or more when decompressed, but this machine's memory is {:.1f} GB", source,
           unpacked / 1e9, memory / 1e9);
    }
  }
  check_complete(zip, entries);
  std::vector<std::pair<std::string, std::string>> files;
  for (const ZipEntry& entry : entries) {
    const std::string_view part = zip.part(begin_of(zip, entry), entry.packed);
    if (entry.method == 0 && entry.size != entry.packed) zip.refuse("the sizes of '{}' differ", excerpt(entry.name));
    if (entry.method != 0 && entry.method != 8) {
      fail("{}: '{}' is compressed by method {}; expected 0 (stored) or 8 (deflated)", source, excerpt(entry.name),
           entry.method);
    }
    const bool is_large = entry.size > first_piece;
    if (entry.method == 0 && is_large) check(entry.name, part.substr(0, first_piece), entry.size);
    std::string text = entry.method == 0 ? std::string(part) : inflated(zip, part, entry, check);
    if (crc_of(text) != entry.crc) zip.refuse("the checksum of '{}' does not match", excerpt(entry.name));
    if (!is_large) check(entry.name, text, entry.size);
    files.emplace_back(entry.name, std::move(text));
  }
  return files;
}

std::string write_zip(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string archive, directory;
  constexpr std::uint64_t version = 20, date = 0x21;  // 1980-01-01: the same content gives the same bytes
  for (const auto& [name, text] : files) {
    const std::uint64_t at = archive.size();
    if (at + text.size() + directory.size() >= in_zip64 - 1000) fail("write_zip: the archive would have 4 GB or more");
    const std::string common = little_endian({{version, 2},
                                              {0, 2},
                                              {0, 2},
                                              {0, 2},
                                              {date, 2},
                                              {crc_of(text), 4},
                                              {text.size(), 4},
                                              {text.size(), 4},
                                              {name.size(), 2},
                                              {0, 2}});
    archive += little_endian({{local_mark, 4}}) + common + name + text;
    directory += little_endian({{central_mark, 4}, {version, 2}}) + common +
                 little_endian({{0, 2}, {0, 2}, {0, 2}, {0, 4}, {at, 4}}) + name;
  }
  if (files.size() > 65534) fail("write_zip: expected at most 65,534 files, got {}", files.size());
  const std::uint64_t begin = archive.size();
  return archive + directory +
         little_endian({{end_mark, 4},
                        {0, 2},
                        {0, 2},
                        {files.size(), 2},
                        {files.size(), 2},
                        {directory.size(), 4},
                        {begin, 4},
                        {0, 2}});
}

}  // namespace heed
