#include "nn/transformer/cache_paged.hpp"

#include <algorithm>
#include <utility>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "nn/transformer/cache_store.hpp"

namespace tapestry {

PagePool::PagePool(Size page_size, Size max_pages) : page_size_(page_size), max_pages_(max_pages) {
  if (page_size < 1 || max_pages < 0)
    fail("[page_pool] page_size must be at least 1 and max_pages at least 0, got {} and {}", page_size,
         max_pages);
}

Size PagePool::pages_in_use() const {
  return std::count_if(pages_.begin(), pages_.end(), [](const Page& page) { return page.owners > 0; });
}

Size PagePool::bytes() const {
  Size bytes = 0;
  for (const Page& page : pages_)
    if (page.owners > 0)
      for (const Tensor& part : {page.keys, page.values})
        bytes += part.count() * static_cast<Size>(bytes_of(part.dtype()));
  return bytes;
}

void PagePool::check_room(Size wanted) const {
  if (max_pages_ > 0 && pages_in_use() + wanted > max_pages_)
    fail(
        "[page_pool] the pool must have {} free pages, got {} of {} in use; end a sequence or raise max_pages",
        wanted, pages_in_use(), max_pages_);
}

Size PagePool::take(const Tensor& keys, const Tensor& values) {
  const auto free =
      std::find_if(pages_.begin(), pages_.end(), [](const Page& page) { return page.owners == 0; });
  if (free != pages_.end()) {
    free->owners = 1;
    return free - pages_.begin();
  }
  pages_.push_back({Tensor::uninitialised(detail::with_positions(keys, page_size_), keys.dtype()),
                    Tensor::uninitialised(detail::with_positions(values, page_size_), values.dtype()), 1});
  return static_cast<Size>(pages_.size()) - 1;
}

PagedCache::PagedCache(const PagedCache& other)
    : pool_(other.pool_), length_(other.length_), table_(other.table_) {
  for (const Size page : table_) ++pool_->at(page).owners;
}

PagedCache::PagedCache(PagedCache&& other) noexcept
    : pool_(other.pool_), length_(std::exchange(other.length_, 0)), table_(std::exchange(other.table_, {})) {}

PagedCache& PagedCache::operator=(PagedCache other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(length_, other.length_);
  std::swap(table_, other.table_);
  return *this;
}

PagedCache::~PagedCache() {
  for (const Size page : table_) --pool_->at(page).owners;
}

/// Only the last page can be written to, if it has free places.
bool PagedCache::last_is_shared() const {
  return length_ % pool_->page_size_ != 0 && pool_->owners(table_.back()) > 1;
}

void PagedCache::append(const Tensor& keys, const Tensor& values) {
  detail::check_no_tape();
  detail::check_pairs(keys, values);
  if (!pool_->pages_.empty()) {
    detail::check_same_rows(keys, pool_->at(0).keys);
    detail::check_same_rows(values, pool_->at(0).values);
  }
  const Size size = pool_->page_size_, added = keys.size(-2);
  if (added == 0) return;
  const bool copy_last = last_is_shared();
  pool_->check_room((length_ + added + size - 1) / size - static_cast<Size>(table_.size()) + copy_last);
  if (copy_last) {
    const Size old = table_.back(), copy = pool_->take(keys, values), filled = length_ % size;
    detail::write_positions(pool_->at(copy).keys, 0, pool_->at(old).keys, 0, filled);
    detail::write_positions(pool_->at(copy).values, 0, pool_->at(old).values, 0, filled);
    --pool_->at(old).owners;
    table_.back() = copy;
  }
  for (Size begin = 0; begin < added;) {
    const Size place = length_ % size, end = std::min(added, begin + size - place);
    if (place == 0) table_.push_back(pool_->take(keys, values));
    detail::write_positions(pool_->at(table_.back()).keys, place, keys, begin, end);
    detail::write_positions(pool_->at(table_.back()).values, place, values, begin, end);
    length_ += end - begin;
    begin = end;
  }
}

Tensor PagedCache::filled(const Tensor& page, Size place) const {
  const Size size = pool_->page_size_;
  return slice(page, -2, 0, std::min(size, length_ - place * size));
}

Tensor PagedCache::page_keys(Size place) const {
  return filled(pool_->at(table_.at(static_cast<std::size_t>(place))).keys, place);
}

Tensor PagedCache::page_values(Size place) const {
  return filled(pool_->at(table_.at(static_cast<std::size_t>(place))).values, place);
}

Tensor PagedCache::keys() const {
  if (table_.empty()) return {};
  std::vector<Tensor> pages;
  for (std::size_t i = 0; i < table_.size(); ++i) pages.push_back(page_keys(static_cast<Size>(i)));
  return concat(pages, -2);
}

Tensor PagedCache::values() const {
  if (table_.empty()) return {};
  std::vector<Tensor> pages;
  for (std::size_t i = 0; i < table_.size(); ++i) pages.push_back(page_values(static_cast<Size>(i)));
  return concat(pages, -2);
}

}  // namespace tapestry
