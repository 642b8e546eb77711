// A cache in pages of fixed size, which texts with the same beginning share (Kwon et al. 2023, "PagedAttention").
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Pages of keys and values for the sequences of one layer. A page holds `page_size` positions. Several sequences
/// may own a page; a page without owners is reused. The pool must outlive its sequences.
class PagePool {
 public:
  /// At most `max_pages` pages; 0: no limit. Throws unless page_size is at least 1 and max_pages at least 0.
  explicit PagePool(Size page_size, Size max_pages = 0);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Returns the number of positions in a page.
  Size page_size() const { return page_size_; }
  /// Returns the number of pages that a sequence owns.
  Size pages_in_use() const;
  /// Returns the number of sequences that own the page.
  Size owners(Size page) const { return pages_[static_cast<std::size_t>(page)].owners; }
  /// Returns the bytes of the pages that a sequence owns.
  Size bytes() const;

 private:
  friend class PagedCache;
  struct Page {
    Tensor keys, values;  // (…, page_size, d)
    Size owners = 0;
  };
  Page& at(Size page) { return pages_[static_cast<std::size_t>(page)]; }
  /// Returns the number of a page with one owner, for keys and values of these shapes.
  Size take(const Tensor& keys, const Tensor& values);
  /// Throws if fewer than `wanted` pages are left.
  void check_room(Size wanted) const;

  Size page_size_, max_pages_;
  std::vector<Page> pages_;
};

/// Keys and values of one sequence: a table with the number of the page of each `page_size` positions. A copy owns
/// the same pages, so that texts share a prompt. The first append to a shared page copies it (copy on write). For
/// use without a tape.
class PagedCache {
 public:
  /// Starts an empty sequence.
  explicit PagedCache(PagePool& pool) : pool_(&pool) {}
  PagedCache(const PagedCache& other);
  PagedCache(PagedCache&& other) noexcept;
  PagedCache& operator=(PagedCache other) noexcept;
  ~PagedCache();

  /// Appends keys (…, T, d_k) and values (…, T, d_v). Throws if keys and values differ in T, if another axis or the
  /// type differs from those in the pool, if the pool has not enough pages (the cache is then unchanged), or if a
  /// tape is active.
  void append(const Tensor& keys, const Tensor& values);
  /// Returns the number of positions.
  Size length() const { return length_; }
  /// Returns the page numbers. Position p is at place p mod page_size of page table()[p / page_size].
  const std::vector<Size>& table() const { return table_; }
  /// page_keys() and page_values() return the filled positions (…, n, d) of the page at `place` of the table, as
  /// views of the page.
  Tensor page_keys(Size place) const;
  Tensor page_values(Size place) const;
  /// keys() and values() return all positions (…, length, d), copied from the pages; undefined for an empty
  /// sequence.
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
