// KV cache in pages of fixed size. Texts with the same beginning share pages (Kwon et al. 2023, "PagedAttention").
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Pages of keys and values for all sequences of one layer. A page stores `page_size` positions. Several sequences can
/// own the same page. A page without owners is reused. The pool must outlive its sequences.
class PagePool {
 public:
  /// Starts a pool of at most `max_pages` pages; 0 means no limit. A page is allocated when it is first needed. Throws
  /// Error unless page_size is at least 1 and max_pages at least 0.
  explicit PagePool(Size page_size, Size max_pages = 0);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Returns the number of positions in a page.
  Size page_size() const { return page_size_; }
  /// Returns the number of pages that at least one sequence owns.
  Size pages_in_use() const;
  /// Returns the number of sequences that own the page.
  Size owners(Size page) const { return pages_[static_cast<std::size_t>(page)].owners; }
  /// Returns the size in bytes of the pages that at least one sequence owns.
  Size bytes() const;

 private:
  friend class PagedCache;
  struct Page {
    Tensor keys, values;  // (…, page_size, d)
    Size owners = 0;
  };
  Page& at(Size page) { return pages_[static_cast<std::size_t>(page)]; }
  /// Returns the number of an unowned or new page, which now has one owner. A new page gets the shapes and types of
  /// keys and values, except for the number of positions.
  Size take(const Tensor& keys, const Tensor& values);
  /// Throws Error if fewer than `wanted` pages are left.
  void check_room(Size wanted) const;

  Size page_size_, max_pages_;
  std::vector<Page> pages_;
};

/// Keys and values of one sequence. A table has the page number for each block of `page_size` positions. A copy of the
/// cache owns the same pages, so that several texts share the memory of one prompt. Before a cache appends to a page
/// that has other owners, it copies this page (copy on write). Use the cache without a tape, because it stores values
/// only.
class PagedCache {
 public:
  /// Starts an empty sequence.
  explicit PagedCache(PagePool& pool) : pool_(&pool) {}
  PagedCache(const PagedCache& other);
  PagedCache(PagedCache&& other) noexcept;
  PagedCache& operator=(PagedCache other) noexcept;
  ~PagedCache();

  /// Appends keys (…, T, d_k) and values (…, T, d_v). Throws Error if keys or values have fewer than two axes, if they
  /// differ in T, if another axis or the type differs from the pages in the pool, if the pool has too few pages, or if
  /// a tape is active. The cache is then unchanged.
  void append(const Tensor& keys, const Tensor& values);
  /// Returns the number of positions.
  Size length() const { return length_; }
  /// Returns the page numbers. Position p is stored at place p mod page_size of page table()[p / page_size].
  const std::vector<Size>& table() const { return table_; }
  /// page_keys() and page_values() return the filled positions (…, n, d) of the page table()[place], as views of the
  /// page.
  Tensor page_keys(Size place) const;
  Tensor page_values(Size place) const;
  /// keys() and values() return all positions (…, length, d) as a copy, because the pages are not contiguous. They are
  /// undefined for an empty sequence.
  Tensor keys() const;
  Tensor values() const;

 private:
  bool last_is_shared() const;
  Tensor filled(const Tensor& page, Size place) const;

  PagePool* pool_;
  Size length_ = 0;
  std::vector<Size> table_;
};

}  // namespace tapestry
