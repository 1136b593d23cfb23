! A sparse matrix times a vector, as in NPB's CG: rows with columns at random.
module sparse
  implicit none
  integer, parameter :: rows = 200000, per_row = 12
  integer, allocatable :: columns(:)
  real(8), allocatable :: values(:)
contains
  subroutine make_matrix()
    integer :: i
    integer(8) :: state
    allocate (columns(rows * per_row), values(rows * per_row))
    state = 1
    do i = 1, rows * per_row
      state = mod(state * 48271_8, 2147483647_8)
      columns(i) = 1 + int(mod(state, int(rows, 8)))
      values(i) = 1d0 / i
    end do
  end subroutine

  subroutine multiply(x, y)
    real(8), intent(in) :: x(:)
    real(8), intent(out) :: y(:)
    integer :: i, k
    do i = 1, rows
      y(i) = 0
      do k = (i - 1) * per_row + 1, i * per_row
        y(i) = y(i) + values(k) * x(columns(k))
      end do
    end do
  end subroutine
end module

program main
  use sparse
  implicit none
  real(8), allocatable :: x(:), y(:)
  integer :: round
  allocate (x(rows), y(rows))
  x = 1
  call make_matrix()
  do round = 1, 8
    call multiply(x, y)
    x = y / maxval(abs(y))
  end do
  print *, sum(x)
end program
