// Indexes every word of the text files below some folders, then answers random two-word queries.
//
//   inverted_index FOLDER... [--queries N]
//
// Real structures of a search engine in small: a dictionary (hash table), posting lists with
// positions, and the texts themselves for the snippet shown of each hit. Prints a checksum of the
// answers, so that two builds can be compared. Marks its phases for nearfar.
#include <nearfar/mark.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

struct Posting {
  std::uint32_t document;
  std::uint32_t offset;
};

struct Index {
  std::vector<std::string> texts;
  std::unordered_map<std::string, std::vector<Posting>> words;
};

bool is_text(const std::filesystem::path& path) {
  static const char* const endings[] = {".py", ".txt", ".c", ".h", ".md", ".rst", ""};
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](const char* ending) { return path.extension() == ending; });
}

void add(Index& index, std::string text) {
  const auto document = static_cast<std::uint32_t>(index.texts.size());
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const bool letter = at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    if (letter) continue;
    if (at - start >= 3)
      index.words[text.substr(start, at - start)].push_back(
          {document, static_cast<std::uint32_t>(start)});
    start = at + 1;
  }
  index.texts.push_back(std::move(text));
}

void read_folder(Index& index, const char* folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator
           it(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && is_text(it->path())) paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    add(index, {std::istreambuf_iterator<char>(file), {}});
  }
}

// Documents that hold both words, found by merging their posting lists.
std::uint64_t answer(const Index& index, const std::vector<Posting>& a,
                     const std::vector<Posting>& b) {
  std::uint64_t sum = 0;
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (x->document < y->document) {
      ++x;
    } else if (y->document < x->document) {
      ++y;
    } else {
      const std::string& text = index.texts[x->document];
      const auto snippet = std::string_view(text).substr(x->offset, 80);
      for (const char c : snippet) sum = sum * 31 + static_cast<unsigned char>(c);
      const std::uint32_t document = x->document;
      while (x != a.end() && x->document == document) ++x;
      while (y != b.end() && y->document == document) ++y;
    }
  }
  return sum;
}

}  // namespace

int main(int count, char** arguments) {
  Index index;
  std::uint64_t queries = 200'000;
  NEARFAR_BEGIN("index");
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]) == "--queries" && i + 1 < count)
      queries = std::strtoull(arguments[++i], nullptr, 10);
    else
      read_folder(index, arguments[i]);
  }
  NEARFAR_END("index", index.texts.size());
  if (index.words.empty()) {
    std::fprintf(stderr, "inverted_index: no words found; name folders with text files\n");
    return 2;
  }
  std::vector<const std::vector<Posting>*> lists;
  std::vector<std::string> sorted;
  for (const auto& [word, postings] : index.words) sorted.push_back(word);
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& word : sorted) lists.push_back(&index.words[word]);

  NEARFAR_BEGIN("query");
  std::uint64_t state = 88172645463325252u;
  std::uint64_t sum = 0;
  const auto pick = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % lists.size();
  };
  for (std::uint64_t i = 0; i < queries; ++i) sum += answer(index, *lists[pick()], *lists[pick()]);
  NEARFAR_END("query", queries);
  std::printf("%zu documents, %zu words, checksum %llu\n", index.texts.size(), index.words.size(),
              static_cast<unsigned long long>(sum));
  return 0;
}
